import type { Labelled, Label } from '#contracts/label.ts'
import { joinLabels, labelOfResult, ownLabel } from '#contracts/label.ts'
import { defined } from '#contracts/defined.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { CallRecord, TurnRecord } from './journal.ts'
import type { Message, ToolCall } from '#contracts/message.ts'
import type { ToolStep } from './plan.ts'

/** The joined label of all messages of a context. */
export const contextLabel = (said: readonly Labelled[]): Label =>
  joinLabels(said.map(({ label }) => label))

/** The texts of one turn, as its row has them. Each reader takes the parts that it shows. */
export interface TurnSaid {
  /** The agent's text; empty if it only made calls. */
  readonly text: string
  /** The model reply that has this text: the last one in this turn that the agent itself asked for. */
  readonly reply: SessionEvent<'model_called'> | undefined
  /** The turn's part of the transcript: received messages, the agent's text and calls, then the results. */
  readonly messages: readonly Message[]
}

type Said = Pick<TurnRecord, 'received' | 'label' | 'steps' | 'calls' | 'events'>

/** Reads a turn. Each field is computed when it is read. */
export function toTurnSaid(turn: Said): TurnSaid {
  return {
    get text() {
      return textOf(turn)
    },
    get reply() {
      return turn.events.findLast(isOwnReply)
    },
    get messages() {
      return messagesOf(turn)
    },
  }
}

const textOf = ({ steps }: Said): string =>
  steps.flatMap((step) => ('message' in step ? [step.message] : [])).join('\n')

/** A model reply to a tool's code is no message of the agent. */
const isOwnReply = (event: SessionEvent): event is SessionEvent<'model_called'> =>
  event.type === 'model_called' && event.data.call === undefined

function messagesOf(turn: Said): readonly Message[] {
  const { received = [], label, steps, calls, events } = turn
  const text = textOf(turn)
  const toolCalls = steps.flatMap((step) => (step.type === 'tool' ? [toCall(step)] : []))
  if (text === '' && toolCalls.length === 0) return received
  const said: Message = {
    role: 'assistant',
    text,
    ...(toolCalls.length > 0 && { toolCalls }),
    taint: ['model'],
    ...defined({ label }),
  }
  const decided = new Set(events.flatMap(decidedByPerson))
  return [...received, said, ...calls.map((call) => answerOf(call, decided.has(call.id), turn))]
}

const toCall = ({ callId: id, toolId: name, input, opaque }: ToolStep): ToolCall => {
  return { id, name, input, ...defined({ opaque }) }
}

/** Only approvals and questions are decided by a person: a client's tool or another session answers by program. */
const decidedByPerson = (event: SessionEvent): readonly string[] =>
  event.type === 'pause_answered' && ['approval', 'question'].includes(event.data.kind)
    ? [event.data.call]
    : []

function answerOf(call: CallRecord, isDecided: boolean, turn: Said): Message {
  const { outcome } = call
  // A turn that failed before its plan has none.
  const { aside } = outcome ?? {}
  const label = aside?.label ?? (turn.label && (outcome ? labelOfResult(outcome) : ownLabel))
  const mark = isDecided ? ({ decided: true } as const) : {}
  const base = {
    role: 'tool',
    callId: call.id,
    name: call.name,
    ...mark,
    ...defined({ label }),
  } as const
  if (outcome?.ok) {
    const taint = outcome.taint ?? [`tool:${call.tool}` as const]
    return { ...base, output: aside?.output ?? outcome.output, isError: false, taint }
  }
  const error = outcome?.error ?? (call.pause ? stillWaiting : noOutcome)
  return {
    ...base,
    output: aside?.output ?? { error: { code: error.code, message: error.message } },
    isError: true,
    taint: [`tool:${call.tool}`],
  }
}

const stillWaiting = { code: 'tool_pending', message: 'Waiting for someone; not done so far.' }
const noOutcome = { code: 'tool_outcome_unknown', message: 'No outcome is known.' }
