import { headOf } from '#contracts/cut.ts'
import type { ApprovalRule } from '../types/approval.ts'
import type { EventBus } from '../types/audit-sink.ts'
import type { SessionGateway } from '../types/session-api.ts'
import type { Tell, Errand, Todo } from '../storage/todo.ts'

interface CourierOptions {
  readonly todo: Todo
  readonly sessions: SessionGateway
  /** Settles a run's spending so far in the principal's day. */
  readonly settle: (run: string) => Promise<void>
  /** Reports to the principal's object that no work of a run goes on. */
  readonly release: (run: string) => Promise<void>
  readonly addRule: (rule: ApprovalRule) => Promise<void>
  readonly tell?: EventBus['tell'] | undefined
  /** Called with the error of an entry that failed, and without one once all were sent. */
  readonly onTrouble: (problem: string | undefined) => void
}

/**
 * Sends outbox entries to other objects and events to subscribers, until each is acknowledged. The recovery job comes
 * back for the rest.
 */
export type Courier = ReturnType<typeof createCourier>

/** Events that are looked up at a time: a session with many subscriptions may have thousands. */
const maxTells = 200

export function createCourier(options: CourierOptions) {
  const { todo, onTrouble, tell } = options
  let carrying: Promise<void> | undefined
  let failures = 0

  /** One after the other: a subscriber gets events in the order in which they were emitted. */
  const tellInOrder = async (tells: readonly Tell[]) => {
    for (const one of tells) {
      const event = todo.eventOf(one)
      if (event) await tell?.(one.owner, event)
      todo.removeTell(one)
    }
  }
  const carryAll = async () => {
    const tried = new Set<string>()
    // Entries that are added meanwhile are sent too.
    for (;;) {
      const errands = todo.errands().filter(({ key }) => !tried.has(key))
      const owners = [...Map.groupBy(todo.tells(maxTells, tried), ({ owner }) => owner)]
      if (errands.length + owners.length === 0) break
      const results = await Promise.allSettled([
        ...errands.map(async ({ key, errand }) => {
          tried.add(key)
          await run(errand, options)
          todo.remove(key)
        }),
        ...owners.map(([owner, tells]) => {
          const sent = tellInOrder(tells)
          return sent.catch((error: unknown) => {
            tried.add(owner)
            throw error
          })
        }),
      ])
      const failed = results.find((result) => result.status === 'rejected')
      failures = failed ? failures + 1 : 0
      onTrouble(failed && headOf(String(failed.reason), 200))
    }
  }
  return {
    carry: () => (carrying ??= carryAll().finally(() => (carrying = undefined))),
    isDone: () => todo.errands().length + todo.tells(1).length === 0,
    /** How often in a row an entry failed. */
    failures: () => failures,
  }
}

async function run(
  errand: Errand,
  { sessions, settle, addRule, release }: CourierOptions,
): Promise<void> {
  if (errand.kind === 'settle') {
    if (errand.rule) return addRule(errand.rule)
    return errand.isReleased ? release(errand.run) : settle(errand.run)
  }
  const target = sessions.at(errand.session)
  if (errand.kind === 'cancel') {
    return target.cancelCall(errand.run, errand.call, errand.reason)
  }
  const reply = await target.deliver(errand.delivery)
  // A deleted parent needs no outcome.
  if (!reply.ok && reply.error.code !== 'request_not_found') throw new Error(reply.error.message)
}
