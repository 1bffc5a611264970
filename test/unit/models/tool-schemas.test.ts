import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '#contracts/json.ts'
import { createBodyWriter } from '../../../src/platform/models/openai/request-body.ts'

interface Sent {
  readonly tools: readonly { readonly function: Record<string, unknown> }[]
}

/** The function as a server gets it. */
function sent(inputSchema: JsonSchema, description = 'd'): Record<string, unknown> {
  const tools = [{ name: 't', description, inputSchema }]
  const request = { model: 'm', messages: [], tools, parameters: {} }
  const body = createBodyWriter()(request, { capField: 'max_tokens' }, {})
  return (JSON.parse(body) as Sent).tools[0]!.function
}

const text = { type: 'string' }

describe('A26: strict services refused every request with such a tool', () => {
  it.each<[string, JsonSchema, JsonSchema]>([
    ['an object without properties', { type: 'object' }, { type: 'object', properties: {} }],
    ['nothing at all', {}, { type: 'object', properties: {} }],
    [
      'properties without a type',
      { properties: { a: text } },
      { type: 'object', properties: { a: text } },
    ],
    [
      'nulls, as programs in Go write them',
      { type: 'object', properties: null, required: null },
      { type: 'object', properties: {} },
    ],
    ['a list of types', { type: ['object', 'null'] }, { type: 'object', properties: {} }],
    [
      'a dialect',
      { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: {} },
      { type: 'object', properties: {} },
    ],
    [
      'a list without items, inside',
      { type: 'object', properties: { a: { type: 'array' }, b: { items: { type: 'array' } } } },
      {
        type: 'object',
        properties: { a: { type: 'array', items: {} }, b: { items: { type: 'array', items: {} } } },
      },
    ],
    [
      'a property of any kind',
      { type: 'object', properties: { a: true }, additionalProperties: false },
      { type: 'object', properties: { a: {} }, additionalProperties: false },
    ],
    [
      'one of two shapes',
      {
        oneOf: [
          { type: 'object', properties: { id: text }, required: ['id'] },
          { type: 'object', properties: { name: text }, required: ['name'] },
        ],
      },
      { type: 'object', properties: { id: text, name: text } },
    ],
    [
      'one of two needs, and one of all',
      {
        type: 'object',
        properties: { a: text, b: text },
        required: ['c'],
        anyOf: [{ required: ['a'] }, { required: ['b'] }],
      },
      { type: 'object', properties: { a: text, b: text }, required: ['c'] },
    ],
    [
      'all of two shapes',
      { allOf: [{ properties: { id: text }, required: ['id'] }, { properties: { name: text } }] },
      { type: 'object', properties: { id: text, name: text }, required: ['id'] },
    ],
  ])('%s', (_what, schema, expected) => {
    expect(sent(schema).parameters).toEqual(expected)
  })

  it('what they take stays as it is', () => {
    const schema: JsonSchema = {
      type: 'object',
      description: 'x',
      properties: {
        mode: { enum: ['a', null], default: null },
        free: { type: 'object', additionalProperties: true },
        list: { type: 'array', items: { anyOf: [text, { type: 'null' }] } },
        null: { const: null },
      },
      required: ['mode'],
      $defs: { x: text },
    }
    expect(sent(schema)).toEqual({ name: 't', description: 'd', parameters: schema })
  })

  it('an empty description', () => {
    expect(sent({ type: 'object', properties: {} }, '')).not.toHaveProperty('description')
  })
})
