import type { Message } from '#contracts/message.ts'

/** One message, since some models want the roles to alternate. A heading marks the context. */
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
