import type { Floor } from '../types/floor.ts'
import { isHeld } from './message-router.ts'
import type { Children } from '../storage/children.ts'
import { everyRun } from '../storage/run-order.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Errand, Todo } from '../storage/todo.ts'

export interface RevokeParts {
  readonly store: SessionStore
  readonly todo: Todo
  readonly children: Children
}

const reason = 'The conversation that it worked in is over.'

/**
 * Writes the state of a handoff. Its end also adds an outbox entry that cancels the call which began the handoff: its
 * session ends too, down the tree (E8). The entry is sent until it is acknowledged, so a crash leaves nothing behind.
 */
export function keepFloor(floor: Floor, { store, todo, children }: RevokeParts): void {
  const before = store.floor()
  const isOver = floor.end && isHeld(before) && before.id === floor.id
  const run = isOver ? store.findRun(floor.id) : undefined
  const below = run && children.ofRun(run.order).find(({ call }) => call === floor.call)
  store.together(() => {
    store.writeFloor(floor)
    if (below) todo.add(cancelOf(below, floor.id))
  })
}

/** Cancels the background children of a session, after which no run reads their outcomes. */
export function cancelBackground({ store, todo, children }: RevokeParts): void {
  for (const { order, id, inbox = [] } of everyRun(store))
    for (const child of children.ofRun(order))
      if (child.isBackground && !inbox.some(({ call }) => call === child.call))
        todo.add(cancelOf(child, id))
}

const cancelOf = (
  { session, call }: { readonly session: string; readonly call: string },
  run: string,
): Errand => ({ kind: 'cancel', session, run, call, reason })
