import type { Message } from '#contracts/message.ts'

/** Messages that stay or leave together: one text, or calls with all their answers. */
export interface ContextStep {
  readonly from: number
  /** Behind the last one. */
  readonly to: number
  /** A call has no answer, or a placeholder answer that says that it waits. */
  readonly isOpen: boolean
}

interface Draft {
  from: number
  to: number
  waiting: Set<string>
  hasPending: boolean
}

/**
 * Cuts a transcript where it may be cut: never between a call and its answer. An id may come again in a later run; an
 * answer belongs to the newest call of its id that has none.
 */
export function toSteps(messages: readonly Message[]): readonly ContextStep[] {
  const steps: Draft[] = []
  /** The step of each call. */
  const asked = new Map<string, Draft>()
  messages.forEach((message, at) => {
    const owner = message.role === 'tool' ? asked.get(message.callId) : undefined
    if (message.role === 'tool' && owner) {
      joinInto(steps, owner, at + 1)
      owner.waiting.delete(message.callId)
      asked.delete(message.callId)
      owner.hasPending ||= isPending(message)
      return
    }
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
    const step: Draft = {
      from: at,
      to: at + 1,
      waiting: new Set(calls.map(({ id }) => id)),
      hasPending: isPending(message),
    }
    for (const { id } of calls) asked.set(id, step)
    steps.push(step)
  })
  return steps.map(({ from, to, waiting, hasPending }) => ({
    from,
    to,
    isOpen: waiting.size > 0 || hasPending,
  }))

  /** Messages between a call and its late answer go with the call. */
  function joinInto(all: Draft[], owner: Draft, to: number): void {
    for (let last = all.at(-1); last && last !== owner; last = all.at(-1)) {
      all.pop()
      for (const id of last.waiting) {
        owner.waiting.add(id)
        asked.set(id, owner)
      }
      owner.hasPending ||= last.hasPending
    }
    owner.to = to
  }
}

/** The last calls have not come back: nothing is decided meanwhile. */
export function isCallUnderWay(messages: readonly Message[]): boolean {
  const last = messages.findLastIndex(({ role }) => role !== 'tool')
  const said = messages[last]
  if (said?.role !== 'assistant' || !said.toolCalls) return false
  const answered = new Set(
    messages.slice(last + 1).flatMap((one) => (one.role === 'tool' ? [one.callId] : [])),
  )
  return said.toolCalls.some(({ id }) => !answered.has(id))
}

/** A placeholder answer: the real one is still to come. */
function isPending(message: Message): boolean {
  if (message.role !== 'tool' || !message.isError) return false
  const { output } = message
  if (typeof output !== 'object' || output === null || !('error' in output)) return false
  const { error } = output
  return (
    typeof error === 'object' && error !== null && 'code' in error && error.code === 'tool_pending'
  )
}
