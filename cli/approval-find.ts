// The call that an id names: each id that `isola approval list` prints is taken by every verb.

import type { Waiting } from './chat/pauses.ts'
import type { Pause } from './chat/questions.ts'
import { argumentsOf, factsOf } from './approval-text.ts'
import { neededOption, neededText } from './limit-options.ts'
import { lines, shown, short } from './text.ts'
import { type Tree, childrenOf, wholeTree } from './whole-tree.ts'
import type { Client, Reply } from '../src/client/client.ts'
import { unless } from './connection.ts'

// Calls that wait for a person: id, reason, and the command with which the run goes on.

/** A call that waits, with the one id that every verb of `approval` takes. */
export interface Named extends Waiting {
  readonly id: string
}

/**
 * Its id of the inbox, where it has one; else that of its run, with its call where several wait there. Where a call
 * of a sub-agent waits, it is named there.
 */
export function waitingOfRun(
  session: string,
  { id: run, pauses = [] }: { readonly id: string; readonly pauses?: readonly Pause[] | undefined },
): readonly Named[] {
  const own = pauses.filter(({ kind }) => kind !== 'session')
  const isAlone = own.filter(({ approval }) => !approval).length < 2
  return own.map((pause) => {
    const id = pause.approval?.id ?? (isAlone ? run : `${run}:${pause.call}`)
    return { id, session, run, pause }
  })
}

/** Everything that waits in a session and below it. */
export const waitingOf = ({ id, runs, children }: Tree): readonly Named[] => [
  ...runs.flatMap((run) => (run.state === 'parked' ? waitingOfRun(id, run) : [])),
  ...children.flatMap(waitingOf),
]

/** Why it waits, whole. */
export function reasonOf({ kind, tool, input, reached, about }: Pause): string {
  if (reached) return reached.message
  if (kind === 'question')
    return `It asks: ${typeof input['question'] === 'string' ? input['question'] : (about ?? tool)}`
  if (kind === 'client_tool') return `It waits for the result of ${tool}, which its client runs.`
  return `${tool} with ${argumentsOf(input)} waits for a yes.`
}

/** The command with which it goes on. */
export function nextOf({ id, session, run, pause }: Named): string {
  const { kind, reached } = pause
  const limit = reached && neededOption(reached)
  if (kind === 'budget' && limit) return `isola run raise ${run} ${limit}`
  if (kind === 'question') return `isola chat --session ${session}`
  if (kind === 'client_tool') return `isola session show ${session}`
  return `isola approval allow ${id}`
}

/** A line for the reason of each call that waits, and one for its command. */
export const toldWaiting = (waiting: readonly Named[]): string =>
  waiting.map((one) => `It waits: ${reasonOf(one.pause)}\n  ${nextOf(one)}`).join('\n')

/** All that a person needs to decide about a call of a session: nothing of the arguments is cut. */
export function describedWaiting(waiting: Named): string {
  const { id, session, run, pause } = waiting
  const { kind, tool, input, reached, argsHash } = pause
  const needs = reached && neededText(reached)
  const told =
    kind === 'approval'
      ? [`${tool} with ${argumentsOf(input, 2)}`, ...factsOf(pause), `arguments ${argsHash}`]
      : [reasonOf(pause), ...(needs ? [`needs ${needs}`] : []), nextOf(waiting)]
  return shown(lines(`${id}: open`, `in ${session} ${run}`, told))
}

export type Entry = Reply<'GET /api/operator/approvals/:id'>
/** A call of the inbox, as those see it who have one; or a call that waits in a session. */
export type Found =
  | { readonly id: string; readonly entry: Entry; readonly waiting?: undefined }
  | { readonly id: string; readonly waiting: Named; readonly entry?: undefined }

/** Throws where nothing of that id waits. */
export async function findCall(request: Client['request'], id: string): Promise<Found> {
  if (id.startsWith('run_')) return { id, waiting: await inRun(request, id) }
  if (!id.startsWith('apr_')) throw new Error(`${noCall(id)} ${idsAre}`)
  try {
    return { id, entry: await request('GET /api/operator/approvals/:id', { params: { id } }) }
  } catch (error) {
    // A caller without an inbox decides in their own sessions.
    unless(403, 404)(error)
    const waiting = await inOwnSessions(request, id)
    if (waiting) return { id, waiting }
    unless(403)(error)
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
  const named = below.map((each) => each.id).join(', ')
  throw new Error(
    `${noCall(id)} The run is ${view.state}. ${named ? `Below it wait: ${named}.` : idsAre}`,
  )
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

/** The trees of listed sessions, without a session that is gone since the list was written. */
export async function* treesOf(
  request: Client['request'],
  sessions: Reply<'GET /api/sessions'>['sessions'],
) {
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
  const all = waitingOf(await wholeTree(request, session))
  const found = all.find(({ pause }) => pause.call === call)
  if (!found) throw new Error(`No call ${short(call)} waits in ${short(session)}.`)
  return found
}
