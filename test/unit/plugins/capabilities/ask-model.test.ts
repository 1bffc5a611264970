import { describe, expect, it } from 'vitest'
import type { ModelReply, ModelSelection } from '#contracts/model.ts'
import type { InnerCalls, ToolContext } from '#contracts/tool.ts'
import { createPluginModel } from '../../../../src/features/plugins/capabilities/ask-model.ts'

const reply: ModelReply = {
  text: 'hi',
  toolCalls: [],
  finishReason: 'stop',
  usage: { inputTokens: 1, outputTokens: 1, costNanoUsd: 0, priced: true, estimated: false },
  provider: 'openai',
  model: 'llama3',
}
const refuse = async () => Promise.reject(new Error('not granted'))

/** A deployment where whatever is asked for would be answered by `selection`. */
function modelOf(selection: ModelSelection, terms: Parameters<typeof createPluginModel>[1]) {
  const asked: (string | undefined)[] = []
  const generate: InnerCalls['generate'] = async (request, mayUse) => {
    asked.push(request.model)
    if (mayUse(selection)) return reply
    throw Object.assign(new Error('No model that may be used here serves this.'), {
      code: 'model_not_configured',
    })
  }
  const context = { inner: { generate } } as unknown as ToolContext
  return { ...createPluginModel(context, terms, refuse), asked }
}
const selected = (more: Partial<ModelSelection> = {}): ModelSelection => ({
  provider: 'openai',
  model: 'llama3',
  substituted: false,
  ...more,
})

describe('the model of an agent with code of its own', () => {
  it('Y12: named `default` is whatever the default is, and no other that its code names', async () => {
    const model = modelOf(selected(), { preferred: 'default', models: ['default'] })
    expect((await model.generate({ prompt: 'x' })).model).toBe('openai/llama3')
    expect(model.asked).toEqual(['default'])
    await expect(model.generate({ prompt: 'x', model: 'openai/gpt-5' })).rejects.toThrow(
      'not granted: the model openai/gpt-5',
    )
  })

  it('E1: is said to have no known price where that is why it is not asked', async () => {
    const passedOver = [{ provider: 'openai', model: 'dear', reason: 'price' }]
    const model = modelOf(selected({ passedOver }), { models: ['openai/dear'] })
    await expect(model.generate({ prompt: 'x' })).rejects.toThrow(
      /model_price_unknown: .*openai\/dear/,
    )
  })
})
