import { describe, expect, it } from 'vitest'
import { toToolResult } from '#runtime/kernel/types/agent-outcome.ts'
import type { AgentResult } from '#contracts/agent.ts'
import type { Compaction } from '#contracts/context.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { joinLabels, labelFrom, ownLabel, saidLabel, type Label } from '#contracts/label.ts'
import { labelOf, labelOfAll } from '#contracts/message.ts'
import { labelOfContext } from '../../src/runtime/session/types/message-label.ts'
import type { Message, TaintLabel } from '#contracts/message.ts'
import type { Decision, Pause, PauseAnswer } from '#runtime/kernel/types/pause.ts'
import type { ToolResult } from '#contracts/tool.ts'
import { toTurnSaid } from '#runtime/kernel/types/turn-said.ts'
import { createOutputStore, createOutputTool } from '../../src/runtime/catalog/output-tool.ts'
import { fromContent, toContent } from '../../src/surfaces/openai/responses/compaction-item.ts'
import { submitTo } from '../../src/features/agents/sub-agent-reach.ts'
import { createSpace } from '../../src/runtime/session/storage/space.ts'
import { takeDelivery, type OutsideParts } from '../../src/runtime/session/waiting/outside.ts'
import { expiredOf, toAnswer } from '../../src/runtime/session/waiting/pauses.ts'
import { createSessionWorld } from '../switches/session-world.ts'
import { createToolContext } from '../fakes/tool-context.ts'

const page = labelFrom('page')
const worst = joinLabels([undefined])
const user = (...taint: TaintLabel[]): Message => ({ role: 'user', text: 'x', taint })
const sha256 = (text: string) => `${text.length}`
const failed = { code: 'tool_failed', message: 'no' } as const

/** The label of a call's outcome after a decision. */
function decided(decision: Decision, kind: Pause['kind']): Label | undefined {
  const about = { call: 'c', input: {}, argsHash: 'a', definitionHash: 'd', sinceMs: 0 }
  return outcomeOf(
    toAnswer(decision, { ...about, kind, tool: 'theirs', expires: true }, { sha256 }),
  )
}
const outcomeOf = (answer: PauseAnswer | undefined) =>
  answer?.kind === 'outcome' ? answer.result.label : worst

/** What a turn says of one call with this outcome. */
function answered(outcome: ToolResult | undefined, label: Label | undefined = saidLabel) {
  const call = { id: 'c', name: 'n', tool: 'n', input: {}, definitionHash: '', startedAtMs: 0 }
  const turn = {
    turn: 1,
    label,
    steps: [{ type: 'tool', callId: 'c', toolId: 'n', input: {} }],
    calls: [{ ...call, isRepeatable: true, outcome }],
    events: [],
  } as unknown as TurnRecord
  return toTurnSaid(turn).messages.at(-1)?.label
}

function task(label: Label | undefined): Label | undefined {
  let sent: Message | undefined
  const submitAs = (_asker: unknown, ask: { readonly messages: readonly Message[] }) => {
    sent = ask.messages[0]
    return {} as never
  }
  submitTo(
    { agent: 'a', session: 's', shares: [], submitAs },
    { task: 't' },
    createToolContext({ label }),
  )
  return sent?.label
}

/** What a session is told of a sub-agent that worked in the background. */
function delivered(result: ToolResult): Label | undefined {
  let told: Message | undefined
  const row = { id: 'run_1', order: 1, submission: {}, inbox: [] }
  const parts = {
    store: { findRun: () => row, final: () => undefined },
    runs: {
      change: (_row: unknown, { inbox }: { inbox: { message: Message }[] }) => {
        told = inbox[0]?.message
      },
    },
    transcript: { forget: () => {} },
  } as unknown as OutsideParts
  const about = { parentRun: 'run_1', call: 'c', agent: 'a', session: 's', isBackground: true }
  takeDelivery({ ...about, result } as never, parts)
  return told?.label
}

/** What a call is answered that waits for a sub-agent. */
function awaited(result: ToolResult): Label | undefined {
  let answer: PauseAnswer | undefined
  const parts = {
    store: { findRun: () => ({}), final: () => undefined, turns: () => [] },
    runs: {
      change: (_row: unknown, { answers }: { answers: Record<string, PauseAnswer> }) => {
        answer = answers['c']
      },
    },
  } as unknown as OutsideParts
  takeDelivery({ parentRun: 'run_1', call: 'c', isBackground: false, result } as never, parts)
  return outcomeOf(answer)
}

async function behindHandle(label: Label | undefined): Promise<Label | undefined> {
  const { storage, clock } = createSessionWorld({ script: [] })
  const space = createSpace(storage, clock)
  const sessions = { at: () => ({ storage: async (request: never) => space(request) }) } as never
  const of = { session: 'ses_root', rootSession: 'ses_root', run: 'r', call: 'c' }
  const { handle } = await createOutputStore(sessions).keep({ ...of, label }, '"text"')
  const read = createOutputTool(sessions).tool.execute
  return (await read({ handle: handle! }, createToolContext())).label
}

const summaryFrom = (label: Label | undefined): Compaction =>
  ({ parts: [{ summary: 's', taint: ['context'], label }] }) as unknown as Compaction
const ended = (state: string, label: Label | undefined) =>
  ({ agent: 'a', success: state === 'completed', state, result: 'x', label }) as AgentResult
const compacted: Message = { role: 'user', text: 's', taint: ['context'] }
const assistant: Message = { role: 'assistant', text: 'x', taint: ['model'] }
const answer = { role: 'tool', callId: 'c', name: 'n', output: 1, isError: false } as const

type Row = readonly [place: string, label: () => unknown, expected: Label]

const rows: readonly Row[] = [
  ['what a user says', () => labelOf(user('user')), saidLabel],
  [
    'material with a task',
    () => labelOf(user('context')),
    labelFrom('the material of the task', { integrity: 'data' }),
  ],
  ['instructions', () => labelOf({ role: 'system', text: 'x' }), ownLabel],
  ['an assistant’s words, beside their context', () => labelOf(assistant), ownLabel],
  ['another agent’s words, unlabelled', () => labelOf(user('model')), labelFrom('another agent')],
  ['a stored result, unlabelled', () => labelOf({ ...answer, taint: ['tool:n'] }), labelFrom('n')],
  ['a result', () => answered({ ok: true, output: 1, label: page }), page],
  ['a result that nobody labelled', () => joinLabels([answered({ ok: true, output: 1 })]), worst],
  ['a tool’s error', () => answered({ ok: false, error: failed, label: page }), page],
  ['our own error', () => answered({ ok: false, error: failed }), ownLabel],
  ['a call without an outcome', () => answered(undefined), ownLabel],
  ['a sub-agent’s task', () => task(page), page],
  ['a task of nobody knows whom', () => task(undefined), worst],
  ['a sub-agent’s result', () => toToolResult(ended('completed', page)).label, page],
  ['one that failed', () => toToolResult(ended('failed', page)).label, page],
  [
    'one that has no label',
    () => toToolResult(ended('completed', undefined)).label,
    labelFrom('a__run'),
  ],
  [
    'what came of one in the background',
    () => delivered({ ok: true, output: 1, label: page }),
    page,
  ],
  ['of one that has no label', () => delivered({ ok: true, output: 1 }), worst],
  ['a failure of one of those', () => delivered({ ok: false, error: failed }), worst],
  ['one that its caller waits for', () => awaited({ ok: false, error: failed }), worst],
  [
    'an answer of a person',
    () => decided({ decision: 'result', output: 1 }, 'question'),
    saidLabel,
  ],
  [
    'a no, with its reason',
    () => decided({ decision: 'deny', message: 'x' }, 'approval'),
    saidLabel,
  ],
  [
    'a client’s tool',
    () => decided({ decision: 'result', output: 1 }, 'client_tool'),
    labelFrom('client:theirs'),
  ],
  [
    'its error',
    () => decided({ decision: 'error', message: 'x' }, 'client_tool'),
    labelFrom('client:theirs'),
  ],
  ['what is behind a handle', () => behindHandle(page), page],
  ['what was kept without a label', () => behindHandle(undefined), worst],
  [
    'a summary in the session',
    () => labelOfContext([user('user')], [summaryFrom(page)]),
    joinLabels([saidLabel, page]),
  ],
  [
    'one without a label, beside what it sums up',
    () => labelOfContext([user('user')], [summaryFrom(undefined)]),
    saidLabel,
  ],
  [
    'a summary that a client kept',
    () => labelOfAll(fromContent(toContent([compacted]), 'input')!),
    labelFrom('a summary that the client kept'),
  ],
]

describe('T11, T22, T23: where labels travel', () => {
  it.each(rows)('%s', async (_place, label, expected) => {
    expect(await label()).toEqual(expected)
  })

  it('a call that was not decided in time is in our words', () => {
    const about = { call: 'c', input: {}, argsHash: 'a', definitionHash: 'd', sinceMs: 0 }
    const pause = { ...about, kind: 'approval', tool: 't', expires: true } as const
    expect(outcomeOf(expiredOf([pause], 9, 1)['c'])).toBeUndefined()
  })
})
