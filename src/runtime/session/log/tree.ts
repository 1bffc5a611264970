import { defined } from '#contracts/defined.ts'
import { floorViewOf } from '../floor/floors.ts'
import type { RunView, SessionAbout, SessionTree, TreeQuery } from '../types/session-view.ts'
import type { SessionGateway } from '../types/session-api.ts'
import { noSuchChild, noSuchPlace } from '../storage/refusals.ts'
import type { Child, Children } from '../storage/children.ts'
import type { SpentTotal } from './spending.ts'
import { personaOf } from '../storage/session-row.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow, SessionRow } from '../storage/stored-rows.ts'

const defaultRuns = 100
/** A longer page ends, children included: an answer of the object may have 32 MiB. */
const maxPageChars = 1_000_000
const maxChildren = 500
/** Child objects that are asked side by side; each may answer with a run of 2,000,000 characters. */
const askedAtOnce = 8
/** The least space of a child, so that a child with few and short runs is whole. */
const minChildChars = 20_000

interface TreeOptions {
  readonly session: SessionRow
  readonly parts: {
    readonly store: SessionStore
    readonly children: Children
    readonly spent: SpentTotal
    /** Between two steps of long work: others have the object. */
    readonly rest: () => Promise<void>
  }
  readonly sessions: SessionGateway
  readonly viewOf: (run: RunRow) => RunView
  readonly query: TreeQuery
}

export function aboutOf(session: SessionRow): SessionAbout {
  const { id, agent = '', metadata, principal, createdAtMs } = session
  const persona = personaOf(session)
  return {
    id,
    agent,
    ...defined({ metadata, persona }),
    principal,
    createdAtMs,
  }
}

/** The session with everything below it. A child that cannot be reached is left out. */
export async function treeOf(options: TreeOptions): Promise<SessionTree> {
  const { session, parts } = options
  const { store } = parts
  const { runs, from, to, chars } = lastRuns(options)
  const usage = await parts.spent.total(parts.rest)
  const { fromChild } = options.query
  const page =
    fromChild === undefined
      ? parts.children.ofRuns(from, to, maxChildren + 1)
      : parts.children.from(fromChild, to, maxChildren + 1)
  if (fromChild !== undefined && page.length === 0) throw noSuchChild()
  // The child that has the conversation gets a call for each message, and appears once.
  const once = [...new Map(page.map((child) => [child.session, child])).values()]
  const { trees, next } = await treesOf(once, {
    ...options,
    left: maxCharsOf(options.query) - chars,
  })
  const { lineage } = session
  const [newest] = store.runs(store.lastOrder(), store.lastOrder())
  const trace = newest?.submission.trace
  return {
    ...aboutOf(session),
    ...defined({ trace }),
    ...(lineage && {
      parent: { session: lineage.parentSession, run: lineage.parentRun, call: lineage.parentCall },
    }),
    runs,
    ...(from > 1 && runs[0] && { earlier: runs[0].id }),
    ...floorViewOf(store),
    usage,
    costEstimateUsd: usage.costNanoUsd / 1e9,
    children: trees,
    ...(next && { moreChildren: next.session }),
  }
}

const maxCharsOf = ({ maxChars = maxPageChars }: TreeQuery) => Math.min(maxChars, maxPageChars)

/** The last runs that fit a page, in their order. */
function lastRuns({ parts: { store }, viewOf, query }: TreeOptions) {
  const { before, limit = defaultRuns, fromChild } = query
  const end = before === undefined ? undefined : store.findRun(before)
  if (before !== undefined && !end) throw noSuchPlace('before')
  const to = (end?.order ?? store.lastOrder() + 1) - 1
  const runs: RunView[] = []
  let from = to + 1
  let chars = 0
  // The page before already had the runs; this one continues their children.
  if (fromChild !== undefined) return { runs, from: 1, to, chars }
  while (from > 1 && runs.length < limit && chars <= maxCharsOf(query)) {
    const [row] = store.runs(from - 1, from - 1)
    from -= 1
    if (!row) continue
    const view = viewOf(row)
    chars += JSON.stringify(view).length
    runs.unshift(view)
  }
  return { runs, from, to, chars }
}

/**
 * The children's trees, in their order, as far as they fit the page. On a page of children the first one always
 * fits, so that a reader makes progress.
 */
async function treesOf(
  children: readonly Child[],
  { session, sessions, query: { fromChild }, ...options }: TreeOptions & { readonly left: number },
): Promise<{ readonly trees: readonly SessionTree[]; readonly next?: Child | undefined }> {
  const trees: SessionTree[] = []
  let { left } = options
  for (let from = 0; from < Math.min(children.length, maxChildren); from += askedAtOnce) {
    if (left <= 0) return { trees, next: children[from] }
    const asked = children.slice(from, Math.min(from + askedAtOnce, maxChildren))
    const query = { maxChars: Math.max(minChildChars, Math.floor(left / askedAtOnce)) }
    const replies = await Promise.all(
      asked.map((child) =>
        sessions
          .at(child.session)
          .tree(session.principal, query)
          .catch(() => undefined),
      ),
    )
    for (const [index, reply] of replies.entries()) {
      if (!reply?.ok) continue
      left -= JSON.stringify(reply.value).length
      const isFirst = fromChild !== undefined && trees.length === 0
      if (left < 0 && !isFirst) return { trees, next: asked[index] }
      trees.push(reply.value)
    }
  }
  return { trees, next: children[maxChildren] }
}
