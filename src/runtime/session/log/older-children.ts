import { childrenIn, type Children } from '../storage/children.ts'
import type { SessionStore } from '../storage/store.ts'

const runsAtOnce = 16

export interface ChildrenParts {
  readonly store: SessionStore
  readonly children: Children
  /** Between two steps of long work: others have the object. */
  readonly rest: () => Promise<void>
}

/** Takes the children of a session that an older version began from its events, a few runs at a time: once. */
export async function noteOlderChildren({ store, children, rest }: ChildrenParts): Promise<void> {
  const known = store.session()
  if (!known || known.hasChildrenInTurns) return
  const last = store.lastOrder()
  for (let order = 1; order <= last; order += 1) {
    for (const turn of store.turns(order)) children.add(order, childrenIn(turn))
    if (order % runsAtOnce === 0) await rest()
  }
  const session = store.session()
  if (session) store.writeSession({ ...session, hasChildrenInTurns: true })
}
