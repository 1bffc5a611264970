import type { Answer } from '../client.ts'
import type { ChatMessage, ChatRequestBody, Reply } from '../model-server.mjs'

/** A call of a tool with what came back. */
export interface Done {
  readonly name: string
  readonly input: Answer
  /** As the model reads it: JSON if it is some, else the text. */
  readonly output: Answer
}

/** A model's request, in the form that the scripts of the examples read. */
export interface Conversation {
  /** The heading of the prompt. */
  readonly agent: string
  readonly prompt: string
  /** All that the user said, oldest first. */
  readonly said: readonly string[]
  /** Calls since the user's last message. */
  readonly done: readonly Done[]
}

export type Play = (conversation: Conversation) => Reply | Promise<Reply>

export const call = (name: string, input: object = {}): Reply => ({
  toolCalls: [{ name, arguments: input }],
})

const textOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n')

export function conversationOf({ messages }: ChatRequestBody): Conversation {
  const prompt = messages
    .filter(({ role }) => role === 'system')
    .map(textOf)
    .join('\n')
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const since = messages.slice(last + 1)
  const outputs = new Map(since.map((one) => [one.tool_call_id, textOf(one)]))
  return {
    prompt,
    agent: /^# (.+)$/m.exec(prompt)?.[1] ?? '',
    said: messages.filter(({ role }) => role === 'user').map(textOf),
    done: since
      .flatMap((one) => one.tool_calls ?? [])
      .map(({ id, function: { name, arguments: input } }) => ({
        name,
        input: parsed(input),
        output: parsed(outputs.get(id) ?? ''),
      })),
  }
}

function parsed(text: string): Answer {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
