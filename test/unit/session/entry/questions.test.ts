import { describe, expect, it } from 'vitest'
import {
  answersByCall,
  questionsOf,
  openQuestions,
} from '../../../../src/runtime/session/entry/converse.ts'
import type { RunView } from '../../../../src/runtime/session/types/session-view.ts'
import { parked } from '../../../fakes/http-deps.ts'

const pause = parked.pauses[0]!
const asking = (call: string, asks: object) => ({ ...pause, kind: 'question', call, asks })
const viewOf = (pauses: readonly object[]): RunView =>
  ({ id: 'run', session: 'ses', agent: 'a', state: 'parked', createdAtMs: 1, pauses }) as RunView
const name = { kind: 'elicit', message: 'Your name?', schema: { type: 'object' } }
const sample = { kind: 'sample', messages: [], maxTokens: 9, system: 'Be brief.' }

describe('what a waiting call asks its client', () => {
  it('goes out in the words of the protocol', () => {
    const asks = questionsOf(
      viewOf([asking('c1', { name, sample, roots: { kind: 'roots' } })]),
      true,
    )
    expect(asks.map(({ key, request }) => [key, request])).toEqual([
      [
        'name',
        {
          method: 'elicitation/create',
          params: { mode: 'form', message: 'Your name?', requestedSchema: { type: 'object' } },
        },
      ],
      [
        'sample',
        {
          method: 'sampling/createMessage',
          params: { messages: [], maxTokens: 9, systemPrompt: 'Be brief.' },
        },
      ],
      ['roots', { method: 'roots/list' }],
    ])
  })

  it('says why it is asked again', () => {
    const again = { ...name, problem: 'name is required', tries: 1 }
    const [ask] = questionsOf(viewOf([asking('c1', { name: again })]), true)
    expect(ask?.request).toMatchObject({ params: { message: 'Your name? (name is required)' } })
  })

  it('I26: is no form of a call that changes something, for a caller who may not approve', () => {
    const form = asking('c1', { name })
    const keysFor = (mayApprove: boolean, ...pauses: object[]) =>
      questionsOf(viewOf(pauses), mayApprove).map(({ key }) => key)
    expect(keysFor(false, form)).toEqual([])
    expect(keysFor(true, form)).toEqual(['name'])
    expect(keysFor(false, { ...form, isReadOnly: true })).toEqual(['name'])
    expect(keysFor(false, form, asking('c2', { sample }))).toEqual(['sample'])
  })

  it('is no approval, and nothing that another waits for', () => {
    expect(questionsOf(viewOf([pause]), true)).toEqual([])
  })

  it.each(['constructor', 'toString'])('is open under the key %s until it is answered', (key) => {
    const asks = questionsOf(viewOf([asking('c1', { [key]: { ...name, optional: true } })]), true)
    expect(openQuestions(asks, { elicitation: {} }, {}).possible).toHaveLength(1)
    expect(answersByCall(asks, {}).get('c1')).toEqual({ [key]: null })
    expect(questionsOf(viewOf([asking('c1', { a: { kind: key } })]), true)).toEqual([])
  })

  it('is told apart where two calls ask', () => {
    const asks = questionsOf(viewOf([asking('c1', { name }), asking('c2', { name })]), true)
    expect(asks.map(({ key }) => key)).toEqual(['c1.name', 'c2.name'])
    const answers = answersByCall(asks, { 'c1.name': 1, 'c2.name': 2 })
    expect([...answers]).toEqual([
      ['c1', { name: 1 }],
      ['c2', { name: 2 }],
    ])
  })

  it('is not asked of a client that cannot: an optional question is answered null, the rest is missing', () => {
    const asks = questionsOf(
      viewOf([
        asking('c1', { name, sample: { ...sample, optional: true }, roots: { kind: 'roots' } }),
      ]),
      true,
    )
    const { possible, impossible } = openQuestions(asks, { elicitation: {} }, {})
    expect(possible.map(({ key }) => key)).toEqual(['name'])
    expect(impossible.map(({ key }) => key)).toEqual(['roots'])
    const answers = answersByCall(asks, { name: { action: 'accept' }, roots: { roots: [] } })
    expect(answers.get('c1')).toEqual({ name: { action: 'accept' }, sample: null, roots: [] })
  })
})
