import { describe, expect, it } from 'vitest'
import { createFold } from '../../../src/surfaces/openai/fold.ts'
import { toldEvent } from '../../fakes/events.ts'

const run = 'run_1'
let seq = 0
const event = (type: string, data: object) =>
  toldEvent({ seq: (seq += 1), run, agent: 'tester', trace: 'aa', atMs: seq, type, data })
const usage = { inputTokens: 7, outputTokens: 3 }
const pauses = [{ call: 'call_1', tool: 'look', kind: 'client_tool' }]

/** As an object of the version before tells them: the turn is in what its model says, and nowhere else. */
const firstResponse = [
  event('model_called', { turn: 1, inputTokens: 10, outputTokens: 1 }),
  event('message_finished', { turn: 1, text: 'I look.' }),
  event('agent_result', { usage }),
  event('tool_started', { call: 'call_1', tool: 'look', input: {} }),
  event('run_parked', { pauses }),
]
const secondResponse = [
  event('model_called', { turn: 2, inputTokens: 20, outputTokens: 2 }),
  event('message_finished', { turn: 2, text: 'Seen.' }),
  event('tool_started', { call: 'call_2', tool: 'look', input: {} }),
  event('run_parked', { pauses: [{ ...pauses[0], call: 'call_2' }] }),
]

describe('N-1: a response out of what an older object tells', () => {
  it('ends where its run waits, and counts what its sub-agents took', () => {
    const fold = createFold({ run, turn: 0 })
    const changes = firstResponse.flatMap(fold.apply)
    expect(changes.at(-1)).toMatchObject({ type: 'calls', turn: 1, calls: [{ call: 'call_1' }] })
    expect(fold.tokens()).toEqual({ inputTokens: 17, outputTokens: 4 })
  })

  it('begins behind the one that it goes on from', () => {
    const fold = createFold({ run, turn: 1 })
    const changes = [...firstResponse, ...secondResponse].flatMap(fold.apply)
    expect(changes.map(({ type }) => type)).toEqual(['text', 'message', 'calls'])
    expect(changes.at(-1)).toMatchObject({ turn: 2, calls: [{ call: 'call_2' }] })
    expect(fold.tokens()).toEqual({ inputTokens: 20, outputTokens: 2 })
  })
})
