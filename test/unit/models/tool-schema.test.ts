import { expect, test } from 'vitest'
import { toModelSchema } from '../../../src/models/openai/tool-schema.ts'

test('a tool’s schema tells a model what to send, and not how it is checked', () => {
  expect(
    toModelSchema({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, maxLength: 200, description: 'A path.' },
        lines: { type: 'array', items: { type: 'string', maxLength: 80 }, maxItems: 5 },
        from: { anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }] },
      },
      required: ['path'],
      additionalProperties: false,
    }),
  ).toEqual({
    type: 'object',
    properties: {
      path: { type: 'string', description: 'A path.' },
      lines: { type: 'array', items: { type: 'string' }, maxItems: 5 },
      from: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
    required: ['path'],
  })
})

test('what a model may send keeps its name and its values, whatever they are called', () => {
  const schema = {
    type: 'object',
    properties: {
      maxLength: { type: 'integer', default: 3, enum: [3, 4] },
      additionalProperties: { type: 'boolean', const: false },
      properties: { type: 'object', additionalProperties: { type: 'string' } },
      like: { type: 'object', examples: [{ minLength: 1 }], default: { $schema: 'x' } },
    },
    required: ['maxLength'],
    additionalProperties: true,
  }
  expect(toModelSchema(schema)).toEqual(schema)
})
