import { describe, expect, it } from 'vitest'
import { createSchemaValidator } from '../../../../src/runtime/catalog/schema-validator.ts'
import { createPluginRequest } from '../../../../src/features/plugins/capabilities/plugin-request.ts'

describe('a question of a plugin', () => {
  it.each(['constructor', 'toString', 'valueOf'])(
    'T21: is asked under the key %s too, which no object has answered by itself',
    async (key) => {
      const asked: unknown[] = []
      const request = createPluginRequest({
        granted: ['elicit'],
        context: { answers: {} },
        deps: { validator: createSchemaValidator() },
        refuse: () => () => Promise.reject(new Error('refused')),
        onAsk: (asks) => void asked.push(Object.keys(asks)),
      })
      const schema = { type: 'object' }
      await expect(request.elicit({ key, message: 'Sure?', schema })).rejects.toThrow('Waiting')
      expect(asked).toEqual([[key]])
    },
  )
})
