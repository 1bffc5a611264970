import type { AgentResult } from '#contracts/agent.ts'
import type { MessageDelta, StreamItem, ToldEvent } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'

/** A call that goes out to the client, by the name the model used. */
export interface ClientCall {
  readonly call: string
  readonly tool: string
  readonly input: JsonObject
}

/** Tokens of one response. */
export interface TokenCount {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** One step of a response: text, a finished message, a limit, or the end. */
export type Change =
  | { readonly type: 'text'; readonly turn: number; readonly offset: number; readonly text: string }
  | { readonly type: 'message'; readonly turn: number; readonly text: string }
  | {
      readonly type: 'calls'
      readonly turn: number
      readonly calls: readonly ClientCall[]
      readonly atMs: number
    }
  /** The run waits until a principal raises a limit: events after that belong to the same response. */
  | {
      readonly type: 'limit'
      readonly turn: number
      readonly code: string
      readonly message: string
      /** The id of the call to decide, where the run seems to go round in circles. */
      readonly call: string
      readonly atMs: number
    }
  | { readonly type: 'end'; readonly result: AgentResult; readonly atMs: number }

/** Takes the items of a run's log one after the other and says what is new in the response. */
export interface Fold {
  readonly apply: (item: StreamItem) => readonly Change[]
  /** The tokens of the response's own model calls, and of its sub-agents. */
  readonly tokens: () => TokenCount
  /** `<provider>/<model>` of the one that answered last in the place of the model that was asked for. */
  readonly insteadOf: (asked: string) => string | undefined
}

/** The limit of a run that waits as a whole. */
function reachedBy(event: ToldEvent<'budget_reached'> | ToldEvent<'loop_suspected'>) {
  if (event.type === 'budget_reached') {
    const { code, message } = event.data
    return { code, message }
  }
  const { calls, rounds } = event.data
  const message = `${calls.join(', ')} came ${rounds} times in a row with the same arguments and results.`
  return { code: event.type, message }
}

/** As a result joins the messages of several turns. */
export const betweenTurns = '\n\n'

/** The result for a client. A run that was stopped before its first text gives the reason. */
export function contentOf({ state, result, error }: AgentResult): string {
  // A day that is used up is an error of its own, and no answer.
  const isUsedUp = error?.code === 'request_insufficient_quota'
  if (state !== 'stopped' || result !== '' || isUsedUp) return result
  return `(Stopped before an answer: ${error?.message ?? 'a limit was reached'} ${error?.code ?? ''})`
}

/**
 * The part of a result's text that no message had: empty if the result is one of the messages, or all of them
 * together. A run that was stopped in the middle of a message keeps less than the stream had; a run without an answer
 * leaves nothing.
 */
function restOf(result: AgentResult, messages: readonly string[]): string {
  const { state } = result
  const text = contentOf(result)
  const all = messages.join(betweenTurns)
  const isOne = [...messages, all].some((one) => one.trimEnd() === text.trimEnd())
  const isSaid = isOne || (state === 'stopped' && all.startsWith(text))
  return isSaid || state === 'failed' || state === 'cancelled' ? '' : text
}

const isPiece = (item: StreamItem): item is MessageDelta => item.type === 'message_delta'

/**
 * Reads one response out of its run's log: from the turn after which it begins to where it waits for the client, or
 * is over. Our own tools are left out. A repeated event adds nothing. Text of a result that no message had continues
 * the open message, or becomes a message of its own.
 */
export function createFold(place: FoldPlace): Fold {
  const fold = foldMessages(place)
  const instead = new Map<string, string>()
  return {
    ...fold,
    insteadOf: (asked) => instead.get(asked),
    apply(item) {
      if (item.type === 'model_substituted' && item.run === place.run)
        instead.set(item.data.asked, `${item.data.provider}/${item.data.model}`)
      return fold.apply(item)
    },
  }
}

interface FoldPlace {
  readonly run: string
  readonly turn: number
}

function foldMessages({ run, turn: after }: FoldPlace): Omit<Fold, 'insteadOf'> {
  const said = new Map<number, string>()
  const finished = new Set<number>()
  const calls = new Map<string, ClientCall>()
  let inputTokens = 0
  let outputTokens = 0
  let isOver = false
  let reached = { code: 'loop_suspected', message: 'It goes round in circles.' }
  /** The turn that speaks: those before it are closed. */
  let speaking = after
  /** The last turn that had a change. */
  let told = after

  const say = (turn: number, offset: number, text: string): Change[] => {
    const before = said.get(turn) ?? ''
    const fresh = text.slice(Math.max(0, before.length - offset))
    if (fresh === '' || finished.has(turn)) return []
    said.set(turn, before + fresh)
    speaking = turn
    told = turn
    return [{ type: 'text', turn, offset: before.length, text: fresh }]
  }
  const finish = (turn: number, text: string): Change[] => {
    if (finished.has(turn)) return []
    const rest = say(turn, 0, text)
    finished.add(turn)
    told = turn
    return [...rest, { type: 'message', turn, text: said.get(turn) ?? '' }]
  }
  const count = (took: TokenCount): void => {
    inputTokens += took.inputTokens
    outputTokens += took.outputTokens
  }
  const park = ({ data, atMs }: ToldEvent<'run_parked'>): Change[] => {
    const { pauses, turn } = data
    if (turn <= after) return []
    const before = close(turn)
    told = turn
    const isAsked = pauses.some(({ kind }) => kind === 'client_tool')
    const limit = isAsked ? undefined : pauses.find(({ kind }) => kind === 'budget')
    if (limit) return [...before, { type: 'limit', turn, ...reached, call: limit.call, atMs }]
    isOver = true
    const waiting = pauses.flatMap(({ call }) => calls.get(call) ?? [])
    return [...before, { type: 'calls', turn, calls: waiting, atMs }]
  }
  /** Closes a message that was cut off, or whose end no event reported. */
  const close = (before: number): Change[] =>
    [...said].flatMap(([turn, text]) => (turn <= before ? finish(turn, text) : []))

  const sayRest = (result: AgentResult): Change[] => {
    const rest = restOf(result, [...said.values()])
    const open = finished.has(speaking) ? '' : (said.get(speaking) ?? '')
    if (rest === '') return []
    return say(open !== '' && rest.startsWith(open) ? speaking : told + 1, 0, rest)
  }

  const see = (event: ToldEvent): readonly Change[] => {
    switch (event.type) {
      case 'message_finished': {
        const { text, turn } = event.data
        return turn > after ? [...close(turn - 1), ...finish(turn, text)] : []
      }
      case 'model_called':
        if (event.data.turn > after) count(event.data)
        return []
      case 'agent_result':
        if (event.data.turn > after) count(event.data.usage)
        return []
      case 'tool_started': {
        const { call, tool, input = {} } = event.data
        calls.set(call, { call, tool, input })
        return []
      }
      case 'budget_reached':
      case 'loop_suspected':
        reached = reachedBy(event)
        return []
      case 'run_parked':
        return park(event)
      case 'run_finished': {
        const { result } = event.data
        // Without the result the outcome is unknown: the stream has broken off.
        if (!result) return []
        isOver = true
        const rest = sayRest(result)
        return [
          ...rest,
          ...close(Number.MAX_SAFE_INTEGER),
          { type: 'end', result, atMs: event.atMs },
        ]
      }
      default:
        return []
    }
  }
  return {
    tokens: () => ({ inputTokens, outputTokens }),
    apply(item) {
      if (isOver || item.run !== run) return []
      if (!isPiece(item)) return see(item)
      const { turn, offset, text } = item
      if (turn <= after) return []
      // The common case, once for each piece of text: no message to close.
      if (turn === speaking) return say(turn, offset, text)
      return [...close(turn - 1), ...say(turn, offset, text)]
    },
  }
}
