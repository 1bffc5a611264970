import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Message, ToolCall } from '#contracts/message.ts'
import type { ChatMessage } from './chat-request.ts'

/** A request's messages in our words. */
export interface Conversation {
  /** System and developer messages, in order; added after our own instructions. */
  readonly instructions: string | undefined
  readonly messages: readonly Message[]
}

type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>
type Content = ChatMessage['content']

/**
 * Checks the order of a conversation and converts it. Throws `request_invalid` naming the message.
 *
 * @param appendOnly The session has the history: only what follows the last assistant message is taken.
 */
export function toConversation(
  all: readonly ChatMessage[],
  options: { readonly appendOnly: boolean },
): Conversation {
  checkLast(all)
  const start = options.appendOnly ? all.findLastIndex(({ role }) => role === 'assistant') + 1 : 0
  const instructions: string[] = []
  const messages: Message[] = []
  const asked = new Map<string, string>()
  for (const [index, message] of all.entries()) {
    if (message.role === 'system' || message.role === 'developer') {
      instructions.push(textOf(message.content))
    } else if (index >= start) {
      messages.push(toMessage(message, index, asked))
    }
  }
  if (asked.size > 0)
    throw invalid(`messages`, `no tool message answers the call ${[...asked.keys()][0]}`)
  const text = instructions.filter((part) => part !== '').join('\n\n')
  return { instructions: text === '' ? undefined : text, messages }
}

/** What the client tells us came from the client, whatever role it gives it. */
function toMessage(
  message: Exclude<ChatMessage, { role: 'system' | 'developer' }>,
  index: number,
  asked: Map<string, string>,
): Message {
  if (message.role !== 'tool' && asked.size > 0) {
    throw invalid(
      `messages[${index}]`,
      `must be the tool message for the call ${[...asked.keys()][0]}`,
    )
  }
  const text = textOf(message.content)
  switch (message.role) {
    case 'user': {
      const images = imagesOf(message.content)
      return { role: 'user', text, ...(images.length > 0 && { images }), taint: ['user'] }
    }
    case 'assistant': {
      const toolCalls = toToolCalls(message, asked)
      return {
        role: 'assistant',
        text,
        ...(toolCalls.length > 0 && { toolCalls }),
        taint: ['user', 'model'],
      }
    }
    case 'tool': {
      const callId = message.tool_call_id
      const name = asked.get(callId)
      if (name === undefined) {
        throw invalid(
          `messages[${index}].tool_call_id`,
          'answers no call of the assistant message before it',
        )
      }
      asked.delete(callId)
      return {
        role: 'tool',
        callId,
        name,
        output: text,
        isError: false,
        taint: ['user', `tool:${name}`],
      }
    }
  }
}

function toToolCalls(message: AssistantMessage, asked: Map<string, string>): readonly ToolCall[] {
  return (message.tool_calls ?? []).map((call) => {
    asked.set(call.id, call.function.name)
    return { id: call.id, name: call.function.name, input: toInput(call.function.arguments) }
  })
}

/** A string that is not a JSON object arrives as `{ "": raw }`, as `ToolCall` says. */
function toInput(raw: string): JsonObject {
  try {
    const value: unknown = JSON.parse(raw)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as JsonObject
  } catch {
    // Not JSON: kept as it is.
  }
  return { '': raw }
}

function checkLast(all: readonly ChatMessage[]): void {
  const index = all.length - 1
  const last = all[index]
  if (last?.role !== 'user') {
    const message = `is a message of role ${last?.role}: the last message must be from the user`
    throw invalid(`messages[${index}].role`, message)
  }
  if (textOf(last.content) === '' && imagesOf(last.content).length === 0) {
    throw invalid(`messages[${index}].content`, 'is empty: say what is wanted')
  }
}

function textOf(content: Content): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map((part) => {
    if (part.type === 'text') return part.text
    return part.type === 'refusal' ? part.refusal : ''
  })
  return texts.filter((text) => text !== '').join('\n')
}

function imagesOf(content: Content): readonly string[] {
  if (typeof content === 'string') return []
  return (content ?? []).flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : []))
}

function invalid(param: string, message: string): IsolaError {
  return new IsolaError('request_invalid', `${param}: ${message}.`, { param })
}
