import type { Message } from '#contracts/message.ts'

/** A message as people and programs read it: what a model service alone reads is left out. */
export function withoutOpaque(message: Message): Message {
  if (message.role !== 'assistant' || !message.toolCalls?.some(({ opaque }) => opaque))
    return message
  const toolCalls = message.toolCalls.map(({ id, name, input }) => ({ id, name, input }))
  return { ...message, toolCalls }
}
