import type { Message } from '#contracts/message.ts'

/** A message as clients read it, without fields that only a model service reads. */
export function withoutOpaque(message: Message): Message {
  if (message.role !== 'assistant' || !message.toolCalls?.some(({ opaque }) => opaque))
    return message
  const toolCalls = message.toolCalls.map(({ id, name, input }) => ({ id, name, input }))
  return { ...message, toolCalls }
}
