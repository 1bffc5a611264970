import { headOf } from '#contracts/cut.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { Message } from '#contracts/message.ts'
import type { RunRecord } from '#runtime/session/types/telemetry.ts'
import { toTurnSaid } from '#runtime/kernel/types/turn-said.ts'
import type { Redact } from '../redactor.ts'
import type { ContentOf } from './span.ts'

/** The default: no message, argument or result is exported. */
export const noContent: ContentOf = {
  ofRun: () => ({}),
  ofModelCall: () => ({}),
  ofCall: () => ({}),
}

/** Longest attribute, and longest text within a list of messages. */
const maxAttributeChars = 16_000
const maxTextChars = 4_000

/**
 * Captures messages as JSON in the form of the GenAI conventions. Secrets are redacted before any text is cut, and a
 * list that is too long loses its oldest messages.
 */
export function createContent(redact: Redact): ContentOf {
  const cut = (value: string, maxChars: number) => {
    const safe = redact(value)
    return safe.length <= maxChars
      ? safe
      : `${headOf(safe, maxChars)} [cut: ${safe.length} characters]`
  }
  const say = (value: string) => cut(value, maxTextChars)
  /** @param newest The newest message first. Messages beyond the limit are not even read. */
  const toList = (newest: Iterable<Message>, finish?: string) => {
    const kept: string[] = []
    let sizeChars = 0
    for (const message of newest) {
      const reason = finish === undefined ? {} : { finish_reason: finish }
      const json = JSON.stringify({ ...toParts(message, say), ...reason })
      sizeChars += json.length + 1
      if (sizeChars > maxAttributeChars) break
      kept.unshift(json)
    }
    return `[${kept.join(',')}]`
  }
  function* saidBefore({ content, turns }: RunRecord, turn: TurnRecord): Iterable<Message> {
    yield* turn.received?.toReversed() ?? []
    for (const other of turns.slice(0, turns.indexOf(turn)).toReversed())
      yield* toTurnSaid(other).messages.toReversed()
    yield* content?.messages.toReversed() ?? []
  }
  return {
    ofRun({ content, final }) {
      const task = content?.messages.findLast(({ role }) => role === 'user')
      const result: Message = { role: 'assistant', text: final.result, taint: ['model'] }
      return {
        'gen_ai.input.messages': task && toList([task]),
        'gen_ai.output.messages': toList([result], final.finishReason ?? 'stop'),
      }
    },
    ofModelCall(run, turn, event) {
      // A model call by a tool's code is no part of the transcript.
      if (event.data.call !== undefined) return {}
      const instructions = run.content?.instructions
      // Received messages are no output, and tool results come after the reply.
      const { messages: said, reply } = toTurnSaid({ ...turn, received: [], calls: [] })
      return {
        'gen_ai.system_instructions':
          instructions === undefined
            ? undefined
            : JSON.stringify([{ type: 'text', content: cut(instructions, maxAttributeChars) }]),
        'gen_ai.input.messages': toList(withoutHost(saidBefore(run, turn))),
        'gen_ai.output.messages':
          reply === event ? toList(said.toReversed(), reply.data.finishReason) : undefined,
      }
    },
    ofCall({ input, outcome }) {
      const result = outcome?.ok ? outcome.output : outcome?.error
      return {
        'gen_ai.tool.call.arguments': cut(JSON.stringify(input), maxAttributeChars),
        'gen_ai.tool.call.result':
          result === undefined ? undefined : cut(JSON.stringify(result), maxAttributeChars),
      }
    },
  }
}

function* withoutHost(messages: Iterable<Message>): Iterable<Message> {
  for (const message of messages) if (message.role !== 'system') yield message
}

type Say = (text: string) => string

/** Images are left out: a redactor cannot find secrets in them. */
function toParts(message: Message, say: Say): { readonly role: string; readonly parts: object[] } {
  const spoken = (value: string) => (value === '' ? [] : [{ type: 'text', content: say(value) }])
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, parts: spoken(message.text) }
    case 'assistant':
      return {
        role: 'assistant',
        parts: [
          ...spoken(message.text),
          ...(message.toolCalls ?? []).map(({ id, name, input }) => ({
            type: 'tool_call',
            id,
            name,
            arguments: say(JSON.stringify(input)),
          })),
        ],
      }
    case 'tool': {
      const { callId: id, output } = message
      const response = say(typeof output === 'string' ? output : JSON.stringify(output))
      return { role: 'tool', parts: [{ type: 'tool_call_response', id, response }] }
    }
  }
}
