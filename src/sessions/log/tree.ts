import type { RunView } from '#contracts/run-view.ts'
import type { SessionGateway } from '#contracts/session-api.ts'
import type { SessionAbout, SessionTree, TreeQuery } from '#contracts/session-view.ts'
import { noSuchRun } from '../storage/not-found.ts'
import type { Child } from '../storage/children.ts'
import { noteOlderChildren, type ChildrenParts } from './older-children.ts'
import type { SpentTotal } from './spent-total.ts'
import type { RunRow, SessionRow } from '../storage/store.ts'

const defaultRuns = 100
/** A page that passes this ends: an answer of the object may have 32 MiB. */
const maxPageChars = 4_000_000
const maxChildren = 500
/** Objects that are asked at once. */
const askedAtOnce = 16

export interface TreeOptions {
  readonly session: SessionRow
  readonly parts: ChildrenParts & { readonly spent: SpentTotal }
  readonly sessions: SessionGateway
  readonly viewOf: (run: RunRow) => RunView
  readonly query: TreeQuery
}

export const aboutOf = ({ id, agent = '', metadata, ...session }: SessionRow): SessionAbout => ({
  id,
  agent,
  ...(metadata && { metadata }),
  principal: session.principal,
  createdAtMs: session.createdAtMs,
})

/** The session with everything below it; a child that cannot be reached is left out rather than failing the rest. */
export async function treeOf(options: TreeOptions): Promise<SessionTree> {
  const { session, parts } = options
  const { store } = parts
  const { runs, from, to } = lastRuns(options)
  const usage = await parts.spent.total(parts.rest)
  await noteOlderChildren(parts)
  const children = await treesOf(parts.children.ofRuns(from, to, maxChildren), options)
  const { lineage } = session
  const [newest] = store.runs(store.lastOrder(), store.lastOrder())
  const trace = newest?.submission.trace
  return {
    ...aboutOf(session),
    ...(trace !== undefined && { trace }),
    ...(lineage && {
      parent: { session: lineage.parentSession, run: lineage.parentRun, call: lineage.parentCall },
    }),
    runs,
    ...(from > 1 && runs[0] && { earlier: runs[0].id }),
    usage,
    costEstimateUsd: usage.costNanoUsd / 1e9,
    children,
  }
}

/** The last runs that fit a page, in their order. */
function lastRuns({ parts: { store }, viewOf, query }: TreeOptions) {
  const { before, limit = defaultRuns } = query
  const end = before === undefined ? undefined : store.findRun(before)
  if (before !== undefined && !end) throw noSuchRun()
  const to = (end?.order ?? store.lastOrder() + 1) - 1
  const runs: RunView[] = []
  let from = to + 1
  let chars = 0
  while (from > 1 && runs.length < limit && chars <= maxPageChars) {
    const [row] = store.runs(from - 1, from - 1)
    from -= 1
    if (!row) continue
    const view = viewOf(row)
    chars += JSON.stringify(view).length
    runs.unshift(view)
  }
  return { runs, from, to }
}

/** The children's own trees, in their order, as far as they fit the page. */
async function treesOf(
  children: readonly Child[],
  { session, sessions }: TreeOptions,
): Promise<readonly SessionTree[]> {
  const trees: SessionTree[] = []
  let chars = 0
  for (let from = 0; from < children.length && chars <= maxPageChars; from += askedAtOnce) {
    const replies = await Promise.all(
      children.slice(from, from + askedAtOnce).map((child) =>
        sessions
          .at(child.session)
          .tree(session.principal)
          .catch(() => undefined),
      ),
    )
    for (const reply of replies) {
      if (!reply?.ok) continue
      trees.push(reply.value)
      chars += JSON.stringify(reply.value).length
    }
  }
  return trees
}
