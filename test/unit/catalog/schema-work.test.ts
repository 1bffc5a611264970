import { Validator } from '@cfworker/json-schema'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'
import { createSchemaValidator } from '../../../src/runtime/catalog/schema-validator.ts'
import { evaluate } from '../../../src/runtime/catalog/schema/evaluate.ts'
import { toSafeSchema } from '../../../src/runtime/catalog/schema/safe-schema.ts'
import { createWork, TooMuchWork } from '../../../src/runtime/catalog/schema/visit.ts'
import { createRandom } from '../../fakes/random.ts'
import { isNightly } from '../../setup/nightly.ts'

const range = (count: number) => Array.from({ length: count }, (_, n) => n)
const named = (count: number, value: (n: number) => Json): JsonObject =>
  Object.fromEntries(range(count).map((n) => [`p${n}`, value(n)]))
const nested = (depth: number, inner: Json): Json =>
  depth === 0 ? inner : [nested(depth - 1, inner)]

/** The same schema 512 times against the same value: pairs of references, nine levels deep. */
function often(schema: JsonSchema, keyword = 'anyOf'): JsonSchema {
  const $defs: Record<string, Json> = { d0: schema }
  for (let n = 1; n <= 9; n += 1) {
    const $ref = `#/$defs/d${n - 1}`
    // So that one that fits does not end it.
    $defs[`d${n}`] = { [keyword]: [{ allOf: [{ $ref }, { not: {} }] }, { $ref }] }
  }
  return { $ref: '#/$defs/d9', $defs }
}

/** One after the other, each of which hands on what it looked at. */
const chain = (length: number, last: JsonSchema): JsonSchema =>
  chainOf(length, last, (next) => ({ allOf: [next] }))

function chainOf(
  length: number,
  last: JsonSchema,
  link: (next: JsonSchema) => JsonSchema,
): JsonSchema {
  const $defs: Record<string, Json> = { d0: last }
  for (let n = 1; n <= length; n += 1) $defs[`d${n}`] = link({ $ref: `#/$defs/d${n - 1}` })
  return { $ref: `#/$defs/d${length}`, $defs }
}

/** The value, counting each look at it. */
function watched(value: Json, looks: { count: number }): Json {
  if (typeof value !== 'object' || value === null) return value
  const inner: Json = Array.isArray(value)
    ? value.map((item: Json) => watched(item, looks))
    : Object.fromEntries(Object.entries(value).map(([name, part]) => [name, watched(part, looks)]))
  return new Proxy(inner, {
    get: (target, name) => {
      looks.count += 1
      return Reflect.get(target, name) as unknown
    },
    getOwnPropertyDescriptor: (target, name) => {
      looks.count += 1
      return Reflect.getOwnPropertyDescriptor(target, name)
    },
  })
}

/** An object with `then` is no promise here, but looks like one. */
const conditions = <T>(make: () => T): Readonly<Record<string, T>> =>
  Object.fromEntries(['if', 'then', 'else'].map((keyword) => [keyword, make()]))

const numbers = range(3_000)
const many = named(3_000, (n) => n)
const long = 'ab'.repeat(50_000)
const lists = range(1_000).map((n) => nested(20, n))
const hostile: readonly (readonly [string, JsonSchema, Json])[] = [
  ['uniqueItems', often({ uniqueItems: true }), numbers],
  ['uniqueItems of lists', often({ uniqueItems: true }), lists],
  [
    'uniqueItems of objects',
    often({ uniqueItems: true }),
    range(300).map((n) => ({ ...named(50, () => 1), n })),
  ],
  ['uniqueItems of long texts', often({ uniqueItems: true }), range(20).map((n) => long + n)],
  ['enum', often({ enum: range(3_000).map((n) => n + 0.5) }), 1],
  ['enum of deep lists', often({ enum: range(200).map((n) => [lists, n]) }), [lists, -1]],
  ['enum of long texts', often({ enum: range(20).map((n) => `${long}${n}`) }), `${long}x`],
  ['enum of objects', often({ enum: range(200).map((n) => ({ n })) }), many],
  ['const', often({ const: [lists, 1] }), [lists, 2]],
  ['const of an object', often({ const: { ...many, p0: 1 } }), many],
  ['contains', often({ contains: { const: -1 } }), numbers],
  ['minContains', often({ contains: { type: 'number' }, minContains: 4_000 }), numbers],
  ['propertyNames', often({ propertyNames: { maxLength: 5 } }), many],
  ['required', often({ required: Object.keys(many) }), many],
  ['dependentRequired', often({ dependentRequired: { p0: Object.keys(many) } }), many],
  ['dependentSchemas', often({ dependentSchemas: named(3_000, () => ({})) }), many],
  ['properties', often({ properties: named(3_000, () => ({})) }), many],
  ['properties that are not there', often({ properties: named(3_000, () => ({})) }), {}],
  ['additionalProperties', often({ additionalProperties: { type: 'number' } }), many],
  ['additionalProperties: {} of nothing', often({ minProperties: 1 }), many],
  ['unevaluatedProperties', often({ unevaluatedProperties: { type: 'number' } }), many],
  [
    'unevaluatedProperties, handed on',
    { ...chain(300, { additionalProperties: {} }), unevaluatedProperties: false },
    many,
  ],
  ['unevaluatedItems', often({ unevaluatedItems: { type: 'number' } }), numbers],
  [
    'unevaluatedItems, handed on',
    {
      ...chain(300, { items: {} }),
      unevaluatedItems: false,
    },
    numbers,
  ],
  ['items', often({ items: { type: 'number' } }), numbers],
  ['prefixItems', often({ prefixItems: range(3_000).map(() => ({})) }), numbers],
  ['prefixItems of nothing', often({ prefixItems: range(3_000).map(() => ({})) }), []],
  ['additionalItems', often({ items: [{}], additionalItems: {} }), numbers],
  ['allOf', often({ allOf: range(3_000).map(() => ({})) }), 1],
  ['oneOf', often({ oneOf: range(3_000).map(() => ({ type: 'text' })) }), 1],
  ['if', often(conditions(() => ({ items: {} }))), numbers],
  ['not', often({ not: { contains: { const: -1 } } }), numbers],
  ['type', often({ type: range(3_000).map(String) }), 1],
  ['minLength', often({ minLength: 1 }), long],
  ['maxLength of names', often({ propertyNames: { maxLength: 1e6 } }), { [long]: 1 }],
  ['format', often({ format: 'uri' }), long],
  ['multipleOf', often({ items: { multipleOf: 1e-300 } }), numbers.map(() => 1e300)],
  ['a reference to itself', { $ref: '#' }, 1],
  ['two of them', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }, 1],
  ['one in each item', { items: { $ref: '#' }, allOf: [{ items: { $ref: '#' } }] }, lists],
  ['a long way', chain(5_000, {}), 1],
]

describe('T9: the work of a schema is counted where it is done', () => {
  const max = 300_000
  it.each(hostile)('%s', (_name, schema, value) => {
    const work = createWork(max)
    const looks = { count: 0 }
    const safe = toSafeSchema(schema)
    const given = watched(value, looks)
    const outcome = ((): unknown => {
      try {
        return evaluate(safe, given, work)
      } catch (error) {
        return error
      }
    })()
    if (outcome instanceof Error) expect(outcome).toBeInstanceOf(TooMuchWork)
    // It ends with the step that is one too many, which reads one list, name or text at most.
    expect(work.spent()).toBeLessThan(max + 210_000)
    expect(looks.count).toBeLessThan(5 * work.spent() + 10_000)
  })

  // The first long way of a process goes through code that nothing has optimized, whose frames are the largest.
  it.each<readonly [string, (next: JsonSchema) => JsonSchema]>([
    ['anyOf', (next) => ({ anyOf: [next] })],
    ['oneOf', (next) => ({ oneOf: [next] })],
    ['not', (next) => ({ not: next })],
    ['if', (next) => conditions(() => next)],
    ['dependentSchemas', (next) => ({ dependentSchemas: { a: next } })],
    ['$ref', (next) => next],
  ])('is too much before the stack is: a long way of %s', (_name, link) => {
    const safe = toSafeSchema(chainOf(3_000, {}, link))
    expect(() => evaluate(safe, { a: 1 }, createWork())).toThrow(TooMuchWork)
  })

  it('and most of it comes to an end before that: a list of 3,000 costs ten steps an item', () => {
    const work = createWork()
    expect(evaluate(toSafeSchema({ uniqueItems: true }), numbers, work)).toBeUndefined()
    expect(work.spent()).toBeLessThan(31_000)
  })

  it('is the same for the same value, whatever was checked before', () => {
    const { validate } = createSchemaValidator()
    const bomb = { anyOf: [{ $ref: '#' }, { $ref: '#' }] }
    expect(validate(bomb, 1)).toEqual(validate(bomb, 1))
    expect(validate({ enum: [1] }, 1)).toEqual({ ok: true })
  })
})

const unlimited = () => createWork(Number.POSITIVE_INFINITY)
const spentOn = (schema: JsonSchema, value: Json): number => {
  const work = unlimited()
  evaluate(toSafeSchema(schema), value, work)
  return work.spent()
}

describe('T9: the length of a schema and of a value is paid for', () => {
  const text = 'x'.repeat(64_000)

  it('a text below many lists is paid for in each of them, since each copies it into its key', () => {
    const deep = range(150).reduce<Json>((inner) => [0, inner], text)
    expect(spentOn({ uniqueItems: true }, [deep])).toBeGreaterThan((150 * text.length) / 16)
  })

  it('and below many objects', () => {
    const deep = range(150).reduce<Json>((inner) => ({ a: 0, inner }), text)
    expect(spentOn({ uniqueItems: true }, [deep])).toBeGreaterThan((150 * text.length) / 16)
  })

  it('long texts of one length are compared in pairs, which is paid for', () => {
    const texts = range(60).map((n) => `${'z'.repeat(17_000)}${100 + n}`)
    const pairs = (60 * 59) / 2
    expect(spentOn({ uniqueItems: true }, texts)).toBeGreaterThan((pairs * 17_000) / 16)
    const twice = [...texts, texts[7]!]
    expect(evaluate(toSafeSchema({ uniqueItems: true }), twice, unlimited())).toMatchObject({
      keyword: 'uniqueItems',
    })
    expect(
      evaluate(toSafeSchema({ uniqueItems: true }), ['short', ...texts], unlimited()),
    ).toBeUndefined()
  })

  it.each<[Json, Json]>([
    [['a,1"b'], ['a', 'b']],
    [{ a: '1:1"b' }, { 'a:1': 'b' }],
    ['1', 1],
    ['=1', 1],
    ['[]', []],
    [null, 'null'],
  ])('%j and %j are distinct', (one, other) => {
    const schema = { uniqueItems: true }
    expect(evaluate(toSafeSchema(schema), [one, other], unlimited())).toBeUndefined()
    expect(evaluate(toSafeSchema(schema), [one, other, one], unlimited())).toBeDefined()
  })

  it('sorting long names is paid for', () => {
    const names = Object.fromEntries(range(500).map((n) => [`${'n'.repeat(2_000)}${n}`, 0]))
    // Once for the keys, and nine times for the sorting of 500.
    expect(spentOn({ uniqueItems: true }, [names])).toBeGreaterThan((10 * 500 * 2_000) / 16)
  })

  it.each<[string, JsonSchema, Json]>([
    ['an object', {}, many],
    ['const', { const: many }, many],
    ['enum', { enum: [many] }, many],
    ['uniqueItems', { uniqueItems: true }, [many]],
    ['required', { required: Object.keys(many) }, many],
    ['properties', { properties: named(3_000, () => true) }, {}],
    ['dependentSchemas', { dependentSchemas: named(3_000, () => true) }, {}],
    ['dependentRequired', { dependentRequired: named(3_000, () => []) }, {}],
    ['dependentRequired of many', { dependentRequired: { p0: Object.keys(many) } }, many],
  ])('a name costs more than a step: %s', (_name, schema, value) => {
    expect(spentOn(schema, value)).toBeGreaterThan(8 * 3_000)
  })

  it('a division of decimals costs more than a comparison', () => {
    expect(spentOn({ multipleOf: 0.1 }, 1)).toBeGreaterThan(spentOn({ minimum: 0.1 }, 1))
  })

  const tooLong = 'y'.repeat(8_001)
  it.each<[string, JsonSchema]>([
    ['a property', { properties: { [tooLong]: { properties: named(2_000, () => ({})) } } }],
    ['a definition', { $defs: { [tooLong]: {} } }],
    ['a reference', { anyOf: [{ $ref: `#/$defs/${tooLong}` }] }],
    ['an anchor', { items: { $anchor: tooLong } }],
    ['a required property', { required: ['a', tooLong] }],
    ['one that needs others', { dependentRequired: { [tooLong]: [] } }],
    ['one that others need', { dependentRequired: { a: [tooLong] } }],
  ])('a schema with a name of more than 8,000 characters is refused: %s', (_name, schema) => {
    expect(createSchemaValidator().validate(schema, {})).toEqual({
      ok: false,
      path: '',
      message: 'cannot be checked: the schema has a name of more than 8000 characters',
    })
  })

  it('a schema made ready holds no text that it was not given', () => {
    const leaves: JsonSchema = { properties: named(100, () => ({})) }
    const deep = range(10).reduce<JsonSchema>(
      (inner, n) => ({ properties: { [`${'d'.repeat(5_000)}${n}`]: inner } }),
      leaves,
    )
    const { root: _root, ...rest } = toSafeSchema(deep)
    const texts = Object.values(rest).flatMap((part) => (isTable(part) ? keysOf(part) : []))
    expect(texts.join('').length).toBeLessThan(1_000)
  })
})

const isTable = (part: unknown): part is object => typeof part === 'object' && part !== null
const keysOf = (table: object): readonly string[] =>
  (table instanceof Map ? [...table.keys()] : Object.keys(table)).filter(
    (key) => typeof key === 'string',
  )

describe('T9: a setting of another type than its keyword has is dropped', () => {
  const numbersOnly = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
  const countsOnly = [
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
    'minContains',
    'maxContains',
  ]
  const wrong: readonly (readonly [string, Json])[] = [
    ...numbersOnly.flatMap((keyword) =>
      [[1, 1], '1', true, null, {}].map((setting) => [keyword, setting] as const),
    ),
    ...countsOnly.flatMap((keyword) =>
      [[1, 1], '1', true, -1, 1.5].map((setting) => [keyword, setting] as const),
    ),
    ['type', 7],
    ['type', ['string', 7]],
    ['enum', 'abc'],
    ['required', 'abc'],
    ['required', ['a', 1]],
    ['uniqueItems', [1]],
    ['format', [1]],
    ['format', 'constructor'],
    ['$anchor', [1]],
    ['dependentRequired', [1]],
    ['dependentRequired', { a: 'abc' }],
  ]
  it.each(wrong)('%s: %j', (keyword, setting) => {
    expect(toSafeSchema({ [keyword]: setting }).root).toEqual({})
  })

  it.each<[string, Json]>([
    ...numbersOnly.map((keyword) => [keyword, -0.5] as [string, Json]),
    ...countsOnly.map((keyword) => [keyword, 2] as [string, Json]),
    ['type', 'string'],
    ['type', ['string', 'null']],
    ['const', null],
    ['const', [1]],
    ['enum', [1, 'a']],
    ['required', ['a']],
    ['uniqueItems', true],
    ['format', 'email'],
    ['$anchor', 'a'],
    ['dependentRequired', { a: ['b'] }],
  ])('and one of the right type is kept: %s: %j', (keyword, setting) => {
    expect(toSafeSchema({ [keyword]: setting }).root).toEqual({ [keyword]: setting })
  })

  it('numbers are asked for, not made of a list at each visit', () => {
    const schema = often({ minimum: range(3_000).map(() => 1), maximum: 1 })
    expect(createSchemaValidator().validate(schema, 5)).toMatchObject({ ok: false })
    expect(JSON.stringify(toSafeSchema(schema).root)).not.toContain('minimum')
  })
})

/** Schemas and values of few names and numbers, so that they meet. */
function createWriter(seed: number) {
  const { int, chance } = createRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[int(0, list.length - 1)]!
  const name = () => pick(['a', 'b', 'c', 'toString', '0'])
  const value = (depth = 3): Json => {
    const make = pick<() => Json>([
      () => int(-1, 4),
      () => pick([0.5, 1.5, 1e21, -0]),
      () => pick(['', 'a', 'bb', '😀', 'a@b.co', '2020-01-31']),
      () => chance(0.5),
      () => null,
      ...(depth > 0
        ? [
            () => range(int(0, 4)).map(() => value(depth - 1)),
            () => Object.fromEntries(range(int(0, 4)).map(() => [name(), value(depth - 1)])),
          ]
        : []),
    ])
    return make()
  }
  const type = () => pick(['string', 'number', 'integer', 'object', 'array', 'boolean', 'null'])
  const some = <T>(make: () => T, least = 0): T[] => range(int(least, 3)).map(make)
  const schema = (depth = 3): JsonObject | boolean => {
    if (chance(0.05)) return chance(0.7)
    const inner = () => schema(depth - 1)
    const map = () => Object.fromEntries(some(() => [name(), inner()]))
    const writers: Readonly<Record<string, () => Json>> = {
      type: () => (chance(0.7) ? type() : some(type, 1)),
      const: () => value(2),
      enum: () => some(() => value(2), 1),
      minimum: () => int(-1, 4),
      maximum: () => int(-1, 4),
      exclusiveMinimum: () => int(-1, 4),
      exclusiveMaximum: () => int(-1, 4),
      multipleOf: () => pick([0.1, 0.5, 2, 3]),
      minLength: () => int(0, 3),
      maxLength: () => int(0, 3),
      format: () => pick(['email', 'date', 'uri', 'ipv4', 'unknown']),
      required: () => some(name),
      minProperties: () => int(0, 3),
      maxProperties: () => int(0, 3),
      dependentRequired: () => ({ [name()]: some(name) }),
      minItems: () => int(0, 3),
      maxItems: () => int(0, 3),
      uniqueItems: () => chance(0.8),
      ...(depth > 0 && {
        properties: map,
        additionalProperties: inner,
        unevaluatedProperties: inner,
        propertyNames: inner,
        dependentSchemas: map,
        prefixItems: () => some(inner),
        items: () => (chance(0.8) ? inner() : some(inner)),
        additionalItems: inner,
        unevaluatedItems: inner,
        contains: inner,
        minContains: () => int(0, 2),
        maxContains: () => int(0, 2),
        not: inner,
        anyOf: () => some(inner, 1),
        allOf: () => some(inner, 1),
        oneOf: () => some(inner, 1),
        ...conditions(() => inner),
        $ref: () => pick(['#/$defs/x', '#/$defs/y', '#anchor']),
      }),
    }
    const names = range(int(1, 4)).map(() => pick(Object.keys(writers)))
    return Object.fromEntries(names.map((keyword) => [keyword, writers[keyword]!()]))
  }
  const whole = (): JsonObject => {
    const root = schema()
    // References lead to what has none itself: the library would not end.
    const $defs = { x: schema(0), y: { ...Object(schema(0)), $anchor: 'anchor' } }
    return { ...(typeof root === 'object' ? root : {}), $defs }
  }
  return { value, whole }
}

describe('verdicts are those of the library that it took the place of', () => {
  const times = isNightly ? 3_000 : 300
  it.each([1, 20_26, 77, 1_234_567])(`for ${times} schemas and values of seed %i`, (seed) => {
    const { value, whole } = createWriter(seed)
    const { validate } = createSchemaValidator()
    const different: unknown[] = []
    let fits = 0
    for (let n = 0; n < times; n += 1) {
      const [schema, given] = [whole(), value()]
      const expected = new Validator(structuredClone(schema), '2020-12').validate(given).valid
      const verdict = validate(schema, given)
      if (expected) fits += 1
      if (verdict.ok !== expected) different.push({ schema, given, expected, verdict })
    }
    expect(different.slice(0, 3).map((one) => JSON.stringify(one))).toEqual([])
    // Neither kind is a rarity.
    expect(Math.min(fits, times - fits)).toBeGreaterThan(times / 5)
  })
})
