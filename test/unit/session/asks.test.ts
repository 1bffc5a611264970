import { describe, expect, it } from 'vitest'
import type { Json } from '#contracts/json.ts'
import type { Pause, PauseAnswer } from '#runtime/kernel/types/pause.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { toView } from '../../../src/runtime/session/storage/stored-rows.ts'
import { toAnswer } from '../../../src/runtime/session/waiting/pauses.ts'

const asks = { name: { message: 'Name?' }, color: { message: 'Color?' } }
const pause: Pause = {
  kind: 'question',
  expires: true,
  call: 'call_1',
  tool: 'demo__go',
  input: {},
  argsHash: 'a',
  definitionHash: 'd',
  sinceMs: 0,
  asks,
}
const hash = toView(pause, 1, sha256).asksHash ?? ''
const decide = (output: Json, before?: PauseAnswer, asksHash = hash) =>
  toAnswer({ decision: 'result', output, asksHash }, pause, { before, sha256 })

describe('answers to what a call asks', () => {
  it('are kept by key, each beside the question it was given to', () => {
    expect(decide({ name: 'Ann', color: null })).toEqual({
      kind: 'answered',
      answers: {
        name: { asked: asks.name, answer: 'Ann' },
        color: { asked: asks.color, answer: null },
      },
    })
  })

  it('add up with those before and with leave to run, in either order', () => {
    const first = decide({ name: 'Ann' })
    const second = decide({ color: 'red' }, first)
    expect(second).toMatchObject({ answers: { name: { answer: 'Ann' }, color: { answer: 'red' } } })
    const leave = { kind: 'approved', argsHash: 'a', definitionHash: 'd' } as const
    expect(decide({ name: 'Ann' }, leave)).toEqual({ ...leave, answers: Object(first).answers })
    const approval = { ...pause, kind: 'approval' as const }
    expect(toAnswer({ decision: 'approve' }, approval, { before: first, sha256 })).toEqual({
      ...leave,
      answers: Object(first).answers,
    })
  })

  it.each<[string, Json]>([
    ['no answer by key', 'Ann'],
    ['a list', ['Ann']],
    ['nothing', null],
    ['none at all', {}],
    ['one to what was not asked', { name: 'Ann', role: 'admin' }],
    ['one that pretends to be asked', JSON.parse('{"__proto__":{"asked":1}}') as Json],
  ])('T21: %s is refused', (_what, output) => {
    expect(() => decide(output)).toThrow(expect.objectContaining({ code: 'request_invalid' }))
  })

  it('are limited in size, all of them together', () => {
    const first = decide({ name: 'x'.repeat(300_000) })
    expect(() => decide({ color: 'x'.repeat(300_000) }, first)).toThrow(
      expect.objectContaining({ code: 'request_too_large' }),
    )
  })

  it.each<[string, object]>([
    ['another question under its key', { asks: { ...asks, name: { message: 'Delete it all?' } } }],
    ['more than was shown', { asks: { ...asks, more: { message: 'More?' } } }],
    ['the same of another call', { call: 'call_2' }],
  ])('T21: hold for what was shown, and are refused for %s', (_what, now) => {
    const decision = { decision: 'result', output: { name: 'Ann' }, asksHash: hash } as const
    expect(() => toAnswer(decision, { ...pause, ...now }, { sha256 })).toThrow(
      expect.objectContaining({ code: 'request_conflict' }),
    )
  })

  it('T21: say what they were given to', () => {
    const decision = { decision: 'result', output: { name: 'Ann' } } as const
    expect(() => toAnswer(decision, pause, { sha256 })).toThrow(
      expect.objectContaining({ code: 'request_invalid', param: 'asksHash' }),
    )
  })

  it('may be a refusal, which is the outcome', () => {
    expect(toAnswer({ decision: 'deny' }, pause, { sha256 })).toMatchObject({
      kind: 'outcome',
      result: { error: { code: 'tool_denied' } },
    })
  })
})
