import type { Message } from '#contracts/message.ts'

/** One message, so that models which want the roles to alternate take it; the context is labelled. */
export function toTaskMessage(request: {
  readonly task: string
  readonly context?: string | undefined
}): Message {
  return request.context === undefined
    ? { role: 'user', text: request.task, taint: ['user'] }
    : {
        role: 'user',
        text: `${request.task}\n\nContext:\n${request.context}`,
        taint: ['user', 'context'],
      }
}
