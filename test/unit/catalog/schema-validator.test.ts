import { describe, expect, it } from 'vitest'
import type { Json, JsonSchema } from '#contracts/json.ts'
import { cpuMs } from '../../fakes/cpu-ms.ts'
import { createSchemaValidator } from '../../../src/runtime/catalog/schema-validator.ts'

const { validate } = createSchemaValidator()
const fetchText: JsonSchema = {
  type: 'object',
  properties: {
    url: { type: 'string', minLength: 8 },
    maxChars: { type: 'integer', minimum: 1, maximum: 100 },
    mode: { enum: ['text', 'html'] },
    tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
    filters: {
      type: 'array',
      items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    },
  },
  required: ['url'],
  additionalProperties: false,
}
const timed = (run: () => unknown): number => {
  const startedAt = cpuMs()
  run()
  return cpuMs() - startedAt
}

/** An object with `then` is no promise here, but looks like one. */
const conditions = (...parts: readonly Json[]): JsonSchema =>
  Object.fromEntries(
    ['if', 'then', 'else'].flatMap((name, n) => (n in parts ? [[name, parts[n]!]] : [])),
  )

describe('the schema validator', () => {
  it('accepts a value that fits', () => {
    expect(
      validate(fetchText, { url: 'https://a.b', maxChars: 5, mode: 'text', tags: ['a'] }),
    ).toEqual({ ok: true })
  })

  it.each<[Json, string, string]>([
    [{}, 'url', 'is required'],
    [{ url: 5 }, 'url', 'must be text'],
    [{ url: 'x' }, 'url', 'must have at least 8 characters'],
    [{ url: 'https://a.b', maxChars: 1.5 }, 'maxChars', 'must be a whole number'],
    [{ url: 'https://a.b', maxChars: 0 }, 'maxChars', 'must be at least 1'],
    [{ url: 'https://a.b', maxChars: 101 }, 'maxChars', 'must be at most 100'],
    [{ url: 'https://a.b', mode: 'pdf' }, 'mode', 'must be one of "text", "html"'],
    [{ url: 'https://a.b', tags: ['a', 'a'] }, 'tags', 'must not repeat an item'],
    [{ url: 'https://a.b', tags: ['a', 1] }, 'tags[1]', 'must be text'],
    [{ url: 'https://a.b', filters: [{}] }, 'filters[0].name', 'is required'],
    [
      { url: 'https://a.b', uri: 1 },
      'uri',
      'is not allowed here; known names: url, maxChars, mode, tags, filters',
    ],
    [[], '', 'must be an object'],
    [{ '': 'not json' }, 'url', 'is required'],
  ])('names the path and the problem of %j', (value, path, message) => {
    expect(validate(fetchText, value)).toEqual({ ok: false, path, message })
  })

  it('follows references inside the schema, anchors included', () => {
    const schema = {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: { next: { $ref: '#/$defs/node' }, name: { $ref: '#n' } },
        },
        n: { $anchor: 'n', type: 'string', maxLength: 3 },
      },
    }
    expect(validate(schema, { next: { next: { name: 'abc' } } })).toEqual({ ok: true })
    expect(validate(schema, { next: { name: 'abcd' } })).toEqual({
      ok: false,
      path: 'next.name',
      message: 'must have at most 3 characters',
    })
  })

  it.each([
    '#/$defs/a~1b',
    '#/$defs/a~1b/properties/%25/items/1',
    '#/properties/list/prefixItems/0/anyOf/1',
    '#named',
    '#n%61med',
  ])('follows %s', ($ref) => {
    const text = { type: 'string' }
    const schema: JsonSchema = {
      $defs: {
        'a/b': { ...text, properties: { '%': { items: [{}, text] } } },
        x: { $anchor: 'named', ...text },
      },
      properties: { list: { prefixItems: [{ anyOf: [{}, text] }] }, x: { $ref } },
    }
    expect(validate(schema, { x: 'a' })).toEqual({ ok: true })
    expect(validate(schema, { x: 1 })).toEqual({ ok: false, path: 'x', message: 'must be text' })
  })

  it.each([
    '#nowhere',
    '#/$defs',
    '#/$defs/toString',
    '#/enum/0',
    '#/allOf/length',
    '#/allOf/01',
    '#/constructor',
    '#/$defs/x/type',
    '#/%',
  ])('refuses what refers to %s, which is no schema', ($ref) => {
    const schema = { $defs: { x: { type: 'string' } }, enum: [{ x: 1 }], allOf: [{}, {}] }
    expect(validate({ ...schema, properties: { x: { $ref } } }, { x: 1 })).toEqual({
      ok: false,
      path: '',
      message: 'cannot be checked: the schema is broken',
    })
  })

  describe('unevaluated… sees what lies beside and below it, never a cousin (2020-12, 11.3)', () => {
    const foo = { properties: { foo: true } }
    const none = { unevaluatedProperties: false }
    it.each<[string, JsonSchema, boolean]>([
      ['a reference, branch', { $defs: { foo }, $ref: '#/$defs/foo', allOf: [none] }, false],
      ['if, then', conditions(foo, none), false],
      ['if, else', conditions({ ...foo, required: ['bar'] }, true, none), false],
      ['properties, dependentSchemas', { ...foo, dependentSchemas: { foo: none } }, false],
      ['properties, reference', { ...foo, $defs: { none }, $ref: '#/$defs/none' }, false],
      ['one branch, the next', { allOf: [foo, none] }, false],
      ['anyOf, allOf', { anyOf: [foo], allOf: [none] }, false],
      ['properties, branch', { ...foo, allOf: [none] }, false],
      ['a reference beside it', { $defs: { foo }, $ref: '#/$defs/foo', ...none }, true],
      ['a branch beside it', { allOf: [{ anyOf: [foo] }], ...none }, true],
      ['if beside it', { ...conditions(foo), ...none }, true],
      ['then beside it', { ...conditions(true, foo), ...none }, true],
      ['else beside it', { ...conditions(false, true, foo), ...none }, true],
      ['dependentSchemas beside it', { dependentSchemas: { foo }, ...none }, true],
      ['not beside it', { not: { not: foo }, ...none }, false],
      ['a branch that does not fit', { anyOf: [{ ...foo, required: ['x'] }, {}], ...none }, false],
    ])('%s', (_name, schema, ok) => {
      expect(validate(schema, { foo: 1 }).ok).toBe(ok)
    })

    it('nor of a list', () => {
      const rest = { unevaluatedItems: false }
      expect(validate({ prefixItems: [{}], allOf: [rest] }, [1]).ok).toBe(false)
      expect(validate({ allOf: [{ prefixItems: [{}] }], ...rest }, [1]).ok).toBe(true)
    })
  })

  it('refuses a schema that refers to another document', () => {
    const verdict = validate({ properties: { a: { $ref: 'https://example.com/schema.json' } } }, {})
    expect(verdict).toMatchObject({
      ok: false,
      message: 'cannot be checked: the schema refers to a schema outside itself',
    })
  })

  it('never evaluates a pattern, but keeps a property of that name', () => {
    const schema = { properties: { pattern: { type: 'string' }, text: { pattern: '^(a+)+$' } } }
    expect(timed(() => validate(schema, { text: `${'a'.repeat(40)}!` }))).toBeLessThan(200)
    expect(validate(schema, { text: 'x' })).toEqual({ ok: true })
    expect(validate(schema, { pattern: 1 })).toMatchObject({ ok: false, path: 'pattern' })
  })

  it('allows other names where names are described by patterns', () => {
    const schema = {
      patternProperties: { '^(x+)+$': { type: 'string' } },
      additionalProperties: false,
    }
    expect(validate(schema, { xx: 1 })).toEqual({ ok: true })
  })

  it('checks the formats whose expressions are safe, in little time', () => {
    for (const format of [
      'date',
      'time',
      'date-time',
      'duration',
      'email',
      'hostname',
      'ipv4',
      'uuid',
      'uri',
      'url',
      'regex',
      'uri-template',
      'nonsense',
    ]) {
      for (const text of [
        'a'.repeat(100_000),
        `http://${'a-'.repeat(50_000)}!`,
        `${'a@'.repeat(50_000)}`,
        '1.'.repeat(50_000),
        'P'.padEnd(1e5, '1D'),
        `"${'\\a'.repeat(50_000)}`,
        `http://${'%41'.repeat(30_000)}\\`,
        `{${'a.'.repeat(50_000)}`,
      ]) {
        expect(
          timed(() => validate({ type: 'string', format }, text)),
          format,
        ).toBeLessThan(500)
      }
    }
    expect(validate({ format: 'url' }, 'https://example.com/a?b=c')).toEqual({ ok: true })
    expect(validate({ format: 'url' }, 'example')).toMatchObject({
      ok: false,
      message: 'must be a valid uri',
    })
    expect(validate({ format: 'email' }, 'a@example.com')).toEqual({ ok: true })
  })

  it('stops a schema that branches into itself', () => {
    const bomb: Record<string, Json> = { d0: { type: 'string' } }
    for (let n = 1; n <= 40; n += 1)
      bomb[`d${n}`] = { allOf: [{ $ref: `#/$defs/d${n - 1}` }, { $ref: `#/$defs/d${n - 1}` }] }
    // How much work it is before that is in schema-work.test.ts.
    expect(validate({ $defs: bomb, $ref: '#/$defs/d40' }, 'x')).toMatchObject({
      ok: false,
      message: 'cannot be checked: checking takes too much work',
    })
  })

  it('stops endless recursion, deep schemas and deep values; compares the items of a long list', () => {
    expect(validate({ $ref: '#' }, 1)).toMatchObject({ ok: false })
    expect(validate({ anyOf: [{ $ref: '#' }, { $ref: '#' }] }, 1)).toMatchObject({ ok: false })
    let schema: JsonSchema = {}
    for (let n = 0; n < 100; n += 1) schema = { items: schema }
    expect(validate(schema, [])).toMatchObject({
      ok: false,
      message: expect.stringContaining('deeper'),
    })
    let value: Json = 1
    for (let n = 0; n < 5_000; n += 1) value = [value]
    expect(validate({}, value)).toMatchObject({
      ok: false,
      message: expect.stringContaining('deeper'),
    })
    const long = Array.from({ length: 50_000 }, (_, n) => n)
    expect(validate({ uniqueItems: true }, long)).toEqual({ ok: true })
    expect(validate({ uniqueItems: true }, [...long, 7])).toMatchObject({ ok: false })
  })

  it('survives broken schemas and odd names', () => {
    const broken = [
      { required: 'x' },
      { properties: [] },
      { enum: 5 },
      { type: 7 },
      { $ref: 5 },
      { allOf: {} },
      { items: 'x' },
      { $id: '::', type: 'object' },
      JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'),
    ]
    for (const schema of broken) expect(() => validate(schema, { x: 1 })).not.toThrow()
    expect(
      validate(
        JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'),
        JSON.parse('{"__proto__":1}'),
      ),
    ).toMatchObject({ ok: false, path: '__proto__' })
    expect(validate({ required: ['constructor'] }, {})).toEqual({
      ok: false,
      path: 'constructor',
      message: 'is required',
    })
  })

  it('does not change the schema it is given', () => {
    const schema = Object.freeze({
      $ref: '#/$defs/a',
      $defs: Object.freeze({ a: Object.freeze({ type: 'string' }) }),
    })
    expect(validate(schema, 'x')).toEqual({ ok: true })
  })
})
