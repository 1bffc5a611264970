import { addUsage, zeroUsage } from '#contracts/lease.ts'
import type { RunView, SessionGateway, SessionTree } from '#contracts/session.ts'
import { spentByRun } from '../runs/spending.ts'
import type { RunRow, SessionRow, SessionStore } from '../storage/store.ts'

export interface TreeOptions {
  readonly session: SessionRow
  readonly store: SessionStore
  readonly sessions: SessionGateway
  readonly viewOf: (run: RunRow) => RunView
}

/** The session with everything below it; a child that cannot be reached is left out rather than failing the rest. */
export async function treeOf({
  session,
  store,
  sessions,
  viewOf,
}: TreeOptions): Promise<SessionTree> {
  const rows = store.runs()
  const runs = rows.map(viewOf)
  const usage = rows.reduce(
    (sum, row) => addUsage(sum, spentByRun(row, store.turns(row.order))),
    zeroUsage,
  )
  const children = await Promise.all(
    childrenOf(store).map(async (child) => {
      const reply = await sessions
        .at(child)
        .tree(session.principal)
        .catch(() => undefined)
      return reply?.ok ? [reply.value] : []
    }),
  )
  const { lineage } = session
  const trace = rows.at(-1)?.submission.trace
  return {
    id: session.id,
    agent: session.agent ?? '',
    ...(session.metadata && { metadata: session.metadata }),
    principal: session.principal,
    createdAtMs: session.createdAtMs,
    ...(trace !== undefined && { trace }),
    ...(lineage && {
      parent: { session: lineage.parentSession, run: lineage.parentRun, call: lineage.parentCall },
    }),
    runs,
    usage,
    costEstimateUsd: usage.costNanoUsd / 1e9,
    children: children.flat(),
  }
}

/** Ids of the sessions this one started, in the order they were. */
export function childrenOf(store: SessionStore): string[] {
  const ids = store
    .logAfter(0)
    .flatMap((row) => (row.kind === 'turn' ? row.turn.events : []))
    .flatMap((event) => (event.type === 'agent_invoked' ? [event.data.session] : []))
  return [...new Set(ids)]
}
