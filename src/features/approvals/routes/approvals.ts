import { approvalsQuery, inboxDecision, inboxDecisions } from './approvals-requests.ts'
import type { ApprovalEntry } from '#contracts/approval.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { Decision } from '#runtime/kernel/types/pause.ts'
import { unwrap } from '#contracts/reply.ts'
import type { PauseView, RunView } from '#runtime/session/types/run-view.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { defaultListLimit } from '#platform/routes/list-queries.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { decideCall, requireApprove } from '#runtime/session/requests/for-others.ts'
import { parseFields } from '#platform/routes/validate.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `GET /api/operator/approvals`: an author sees what waits for an author. */
export const listApprovals: Handle = (deps) => async (context) => {
  const { state = 'open', limit, after, ...more } = parseFields(approvalsQuery, context.req.query())
  const [atMs, id] = after?.split('-') ?? []
  const { entries, next } = await deps.approvals.list({
    ...definedOf(more),
    ...(isAuthor(context) && { approver: 'author' }),
    state,
    limit: limit ?? defaultListLimit,
    ...(id !== undefined && { after: { atMs: Number(atMs), id } }),
  })
  return jsonResponse({ approvals: entries, ...(next && { next: `${next.atMs}-${next.id}` }) })
}

/** One of them, with its arguments as its session has them; `pause` is null once it waits no more. */
export const showApproval: Handle = (deps) => async (context) => {
  const entry = await find(deps, context, context.req.param('id') ?? '')
  return jsonResponse({ ...entry, pause: (await pauseOf(deps, entry)) ?? null })
}

/** Decides about one, as in its session. */
export const decideApproval: Handle = (deps) => async (context) => {
  const decision = parseFields(inboxDecision, await readJsonObject(context.req.raw))
  requireApprove(context, decision)
  const entry = await find(deps, context, context.req.param('id') ?? '')
  return jsonResponse(await decide(deps, context, { entry, decision }))
}

/**
 * Decides about several that are alike, each with the arguments that were shown of it. What is gone, was decided or has
 * other arguments by now is refused by itself.
 */
export const decideApprovals: Handle = (deps) => async (context) => {
  const body = parseFields(inboxDecisions, await readJsonObject(context.req.raw))
  const { approvals, ...decision } = body
  requireApprove(context, decision)
  const found: Found[] = []
  for (const { id, argsHash } of approvals)
    found.push(
      await find(deps, context, id).then(
        (entry) => asShown(entry, argsHash),
        (error: unknown) => refused(id, error),
      ),
    )
  const shapes = new Set(found.flatMap((one) => ('ok' in one ? [] : [one.shape])))
  if (shapes.size > 1) {
    const message =
      'Only calls of one tool, with the same fields in their arguments and behind the same label, are decided together.'
    throw new IsolaError('request_conflict', message)
  }
  const decided: Outcome[] = []
  for (const entry of found)
    decided.push(
      'ok' in entry
        ? entry
        : await decide(deps, context, { entry, decision }).then(
            () => ({ id: entry.id, ok: true }),
            (error: unknown) => refused(entry.id, error),
          ),
    )
  return jsonResponse({ decided })
}

/** What became of one of several. */
interface Outcome {
  readonly id: string
  readonly ok: boolean
  readonly code?: string
  readonly message?: string
}
type Found = ApprovalEntry | Outcome

/** The entry, if its arguments are those that were shown. Its session looks once more. */
function asShown(entry: ApprovalEntry, argsHash: string | undefined): Found {
  if (argsHash === undefined || argsHash === entry.argsHash) return entry
  const message =
    'argsHash: its arguments are not those that were shown; read it again (GET /api/operator/approvals/:id).'
  return refused(entry.id, new IsolaError('request_conflict', message))
}

/** What has no code of ours is a bug, and no outcome. */
function refused(id: string, error: unknown): Outcome {
  const code = errorCode(error)
  if (code === undefined) throw error
  return { id, ok: false, code: code.replace(/^request_/, ''), message: errorMessage(error) }
}

interface Deciding {
  readonly entry: ApprovalEntry
  readonly decision: Decision
}

/** What is approved is what the entry shows. */
function decide(
  deps: HttpDeps,
  context: HttpContext,
  { entry, decision }: Deciding,
): Promise<RunView> {
  const { session: id, principal, run, call, argsHash } = entry
  const { id: by } = context.get('principal')
  const session = deps.sessions.at(id)
  const opened = { id, session, principal, ...(by !== principal && { by }) }
  const exact = decision.decision === 'approve' ? { argsHash, ...decision } : decision
  return decideCall(deps, context, { opened, run, call, decision: exact, via: 'inbox' })
}

/** One that is not for the caller looks like one that is absent. */
async function find(deps: HttpDeps, context: HttpContext, id: string): Promise<ApprovalEntry> {
  const entry = /^apr_[0-9a-f]{22}$/.test(id) ? await deps.approvals.find(id) : undefined
  if (!entry || (isAuthor(context) && entry.approver !== 'author'))
    throw new IsolaError('request_not_found', 'There is no such approval in the inbox.')
  return entry
}

const isAuthor = (context: HttpContext): boolean => context.get('principal').role === 'author'

async function pauseOf(
  deps: HttpDeps,
  { session, principal, run, call }: ApprovalEntry,
): Promise<PauseView | undefined> {
  const reply = await deps.sessions.at(session).result(principal, run)
  if (!reply.ok && reply.error.code === 'request_not_found') return undefined
  return unwrap(reply).pauses?.find((one) => one.call === call && one.kind === 'approval')
}

/** Without what is absent. */
const definedOf = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Fields]?: NonNullable<Fields[Key]>
  }
