import type { SessionParts } from '../session-parts.ts'
import { childrenIn } from '../storage/children.ts'

const runsAtOnce = 16

/** Takes the children of a session that an older version began from its events, a few runs at a time: once. */
export async function noteOlderChildren({
  store,
  children,
  rest,
}: Pick<SessionParts, 'store' | 'children' | 'rest'>): Promise<void> {
  const known = store.session()
  if (!known || known.hasChildrenNoted) return
  const last = store.lastOrder()
  for (let order = 1; order <= last; order += 1) {
    for (const turn of store.turns(order)) children.add(order, childrenIn(turn))
    if (order % runsAtOnce === 0) await rest()
  }
  const session = store.session()
  if (session) store.writeSession({ ...session, hasChildrenNoted: true })
}
