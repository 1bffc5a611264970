import type { AgentResult } from '#contracts/agent.ts'
import type { MessageDelta, SessionEvent, StreamItem } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import { turnOfCall } from './wire-ids.ts'

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

/** What is new in one response: text, a message that is finished, or its end. */
export type Change =
  | { readonly type: 'text'; readonly turn: number; readonly offset: number; readonly text: string }
  | { readonly type: 'message'; readonly turn: number; readonly text: string }
  | {
      readonly type: 'calls'
      readonly turn: number
      readonly calls: readonly ClientCall[]
      readonly atMs: number
    }
  | { readonly type: 'end'; readonly result: AgentResult; readonly atMs: number }

/** Takes the items of a run's log one after the other and says what is new in the response. */
export interface Fold {
  readonly apply: (item: StreamItem) => readonly Change[]
  /** What the response's own model calls took, and what its sub-agents took. */
  readonly tokens: () => TokenCount
}

/**
 * Reads one response out of its run's log: from the turn after which it begins to where it waits for the client, or
 * is over. Our own tools are left out. Nothing is said twice, whatever comes twice.
 */
export function createFold({
  run,
  turn: after,
}: {
  readonly run: string
  readonly turn: number
}): Fold {
  const said = new Map<number, string>()
  const finished = new Set<number>()
  const calls = new Map<string, ClientCall>()
  let inputTokens = 0
  let outputTokens = 0
  let isOver = false
  /** The turn that speaks: those before it are closed. */
  let speaking = after

  const say = (turn: number, offset: number, text: string): Change[] => {
    const before = said.get(turn) ?? ''
    const fresh = text.slice(Math.max(0, before.length - offset))
    if (fresh === '' || finished.has(turn)) return []
    said.set(turn, before + fresh)
    speaking = turn
    return [{ type: 'text', turn, offset: before.length, text: fresh }]
  }
  const finish = (turn: number, text: string): Change[] => {
    if (finished.has(turn)) return []
    const rest = say(turn, 0, text)
    finished.add(turn)
    return [...rest, { type: 'message', turn, text: said.get(turn) ?? '' }]
  }
  const count = ({ inputTokens: input, outputTokens: output }: JsonObject): Change[] => {
    inputTokens += Number(input ?? 0)
    outputTokens += Number(output ?? 0)
    return []
  }
  const park = ({ data, atMs }: SessionEvent): Change[] => {
    const pauses = data['pauses'] as unknown as readonly { readonly call: string }[]
    const turn = turnOfCall(pauses[0]?.call ?? '')
    if (turn <= after) return []
    isOver = true
    const waiting = pauses.flatMap(({ call }) => calls.get(call) ?? [])
    return [...close(turn), { type: 'calls', turn, calls: waiting, atMs }]
  }
  /** A message that was cut off, or of which nobody said that it is finished. */
  const close = (before: number): Change[] =>
    [...said].flatMap(([turn, text]) => (turn <= before ? finish(turn, text) : []))

  const see = (event: SessionEvent): readonly Change[] => {
    const { data } = event
    // A model that a tool's code asks is of the turn of that tool's call.
    const turn = Number(data['turn'] ?? turnOfCall(String(data['call'])))
    switch (event.type) {
      case 'message_finished':
        return turn > after ? [...close(turn - 1), ...finish(turn, String(data['text'] ?? ''))] : []
      case 'model_called':
        return turn > after ? count(data) : []
      case 'agent_result':
        return turnOfCall(String(data['call'])) > after
          ? count((data['usage'] ?? {}) as JsonObject)
          : []
      case 'tool_started': {
        const call = String(data['call'])
        calls.set(call, {
          call,
          tool: String(data['tool']),
          input: (data['input'] ?? {}) as JsonObject,
        })
        return []
      }
      case 'run_parked':
        return park(event)
      case 'run_finished': {
        isOver = true
        const result = data['result'] as unknown as AgentResult
        return [...close(Number.MAX_SAFE_INTEGER), { type: 'end', result, atMs: event.atMs }]
      }
      default:
        return []
    }
  }
  const isPiece = (item: StreamItem): item is MessageDelta => item.type === 'message_delta'

  return {
    tokens: () => ({ inputTokens, outputTokens }),
    apply(item) {
      if (isOver || item.run !== run) return []
      if (!isPiece(item)) return see(item)
      const { turn, offset, text } = item
      if (turn <= after) return []
      const closed = turn === speaking ? [] : close(turn - 1)
      return [...closed, ...say(turn, offset, text)]
    },
  }
}
