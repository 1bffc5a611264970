// The call that an id names: each id that `isola approval list` prints is taken by every verb.
import { ApiError, type Client, type Reply } from '../src/client/client.ts'
import { unless } from './connection.ts'
import { short } from './text.ts'
import { waitingOf, waitingOfRun, type Named } from './waiting.ts'
import { childrenOf, wholeTree, type Tree } from './whole-tree.ts'

export type Entry = Reply<'GET /api/operator/approvals/:id'>
/** A call of the inbox, as those see it who have one; or a call that waits in a session. */
export type Found =
  | { readonly id: string; readonly entry: Entry; readonly waiting?: undefined }
  | { readonly id: string; readonly waiting: Named; readonly entry?: undefined }

const isOf = (error: unknown, ...statuses: readonly number[]) =>
  error instanceof ApiError && statuses.includes(error.status)

/** Throws where nothing of that id waits. */
export async function findCall(request: Client['request'], id: string): Promise<Found> {
  if (id.startsWith('run_')) return { id, waiting: await inRun(request, id) }
  if (!id.startsWith('apr_')) throw new Error(`${noCall(id)} ${idsAre}`)
  try {
    return { id, entry: await request('GET /api/operator/approvals/:id', { params: { id } }) }
  } catch (error) {
    // A caller without an inbox decides in their own sessions.
    if (!isOf(error, 403, 404)) throw error
    const waiting = await inOwnSessions(request, id)
    if (waiting) return { id, waiting }
    if (isOf(error, 404)) throw error
    throw new Error(`${noCall(id)} ${idsAre}`, { cause: error })
  }
}

const idsAre = 'isola approval list has the ids.'
const noCall = (id: string) => `Nothing waits under ${short(id)}.`

/** `run_…`, or `run_…:call_…` where several calls wait in the run. */
async function inRun(request: Client['request'], id: string): Promise<Named> {
  const [run = '', ...rest] = id.split(':')
  const view = await request('GET /api/runs/:run', { params: { run } })
  const call = rest.join(':')
  const all = waitingOfRun(view.session, view)
  const found = call === '' ? all : all.filter(({ pause }) => pause.call === call)
  const [one, ...others] = found
  if (one && others.length === 0) return one
  if (one)
    throw new Error(`Several calls wait in ${run}: ${found.map((each) => each.id).join(', ')}.`)
  // A call of a sub-agent may be waiting.
  const below =
    view.state === 'parked' ? waitingUnder(await wholeTree(request, view.session), run) : []
  const [first, ...more] = below
  if (first && more.length === 0 && call === '') return first
  const named =
    below.length > 0 ? ` Below it wait: ${below.map((each) => each.id).join(', ')}.` : ''
  throw new Error(`${noCall(id)} The run is ${view.state}.${named || ` ${idsAre}`}`)
}

/** The calls that wait in one run and below it. */
const waitingUnder = (tree: Tree, run: string) =>
  waitingOf({
    ...tree,
    runs: tree.runs.filter(({ id }) => id === run),
    children: childrenOf(tree, run),
  })

async function inOwnSessions(request: Client['request'], id: string): Promise<Named | undefined> {
  const { sessions } = await request('GET /api/sessions', {
    query: { state: 'parked', limit: '500' },
  })
  for await (const { tree } of treesOf(request, sessions)) {
    const found = waitingOf(tree).find((one) => one.id === id)
    if (found) return found
  }
  return undefined
}

interface Listed {
  readonly id: string
  readonly principal: string
}

/** The trees of listed sessions, without a session that is gone since the list was written. */
export async function* treesOf(request: Client['request'], sessions: readonly Listed[]) {
  for (const { id, principal } of sessions) {
    const tree = await wholeTree(request, id).catch(unless(404))
    if (tree) yield { principal, tree }
  }
}

/** A call by its session, or the one above it, and its own id, which a model chose. */
export async function findInSession(
  request: Client['request'],
  session: string,
  call: string,
): Promise<Named> {
  const found = waitingOf(await wholeTree(request, session)).find(
    ({ pause }) => pause.call === call,
  )
  if (!found) throw new Error(`No call ${short(call)} waits in ${short(session)}.`)
  return found
}
