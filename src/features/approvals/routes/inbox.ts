import type { ApprovalEntry, ApprovalInbox } from '#runtime/session/types/approval.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { Principal } from '#contracts/operations.ts'
import type { Decision } from '#runtime/kernel/types/pause.ts'
import { unwrap } from '#contracts/reply.ts'
import type { PauseView, RunView } from '#runtime/session/types/session-view.ts'
import type * as z from 'zod'
import type { RequestContext } from '#platform/routes/request.ts'
import {
  decideCall,
  requireApprove,
  type ForOthersDeps,
} from '#runtime/session/requests/for-others.ts'
import type { inboxDecisions } from './requests.ts'

/** Dependencies of the inbox routes: each decision is made in the call's session. */
export interface InboxDeps extends ForOthersDeps {
  readonly approvals: ApprovalInbox
}

/**
 * Decides about several calls of one shape, each bound to the arguments that were shown. A call that is gone, decided
 * already, or whose arguments have changed is refused on its own.
 */
export async function decideTogether(
  deps: InboxDeps,
  context: RequestContext,
  { approvals, ...decision }: z.infer<typeof inboxDecisions>,
): Promise<{ readonly decided: readonly Outcome[] }> {
  requireApprove(context, decision)
  const found: Found[] = []
  for (const { id, argsHash } of approvals)
    found.push(
      await findEntry(deps, context.caller, id).then(
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
        : await decideEntry(deps, context, { entry, decision }).then(
            () => ({ id: entry.id, ok: true }),
            (error: unknown) => refused(entry.id, error),
          ),
    )
  return { decided }
}

/** The outcome of one call among several. */
interface Outcome {
  readonly id: string
  readonly ok: boolean
  readonly code?: string
  readonly message?: string
}
type Found = ApprovalEntry | Outcome

/** The entry, if its arguments are the shown ones. Its session compares them again. */
function asShown(entry: ApprovalEntry, argsHash: string | undefined): Found {
  if (argsHash === undefined || argsHash === entry.argsHash) return entry
  const message =
    'argsHash: its arguments are not those that were shown; read it again (GET /api/operator/approvals/:id).'
  return refused(entry.id, new IsolaError('request_conflict', message))
}

/** An error without a code is a bug: thrown, not an outcome. */
function refused(id: string, error: unknown): Outcome {
  const code = errorCode(error)
  if (code === undefined) throw error
  return { id, ok: false, code: code.replace(/^request_/, ''), message: errorMessage(error) }
}

interface Deciding {
  readonly entry: ApprovalEntry
  readonly decision: Decision
}

/** Decides in the call's session. An approval is bound to the arguments of the entry. */
export function decideEntry(
  deps: InboxDeps,
  context: RequestContext,
  { entry, decision }: Deciding,
): Promise<RunView> {
  const { session: id, principal, run, call, argsHash } = entry
  const { id: by } = context.caller
  const session = deps.sessions.at(id)
  const opened = { id, session, principal, ...(by !== principal && { by }) }
  const exact = decision.decision === 'approve' ? { argsHash, ...decision } : decision
  return decideCall(deps, context, { opened, run, call, decision: exact, via: 'inbox' })
}

/** An entry that the caller may not see gets the same answer as an absent one. */
export async function findEntry(
  { approvals }: Pick<InboxDeps, 'approvals'>,
  { role }: Pick<Principal, 'role'>,
  id: string,
): Promise<ApprovalEntry> {
  const entry = /^apr_[0-9a-f]{22}$/.test(id) ? await approvals.find(id) : undefined
  if (!entry || (role === 'author' && entry.approver !== 'author'))
    throw new IsolaError('request_not_found', 'There is no such approval in the inbox.')
  return entry
}

/** The pause a call waits in, with its arguments from its session; `undefined` once it waits no more. */
export async function pauseOf(
  { sessions }: Pick<InboxDeps, 'sessions'>,
  { session, principal, run, call }: ApprovalEntry,
): Promise<PauseView | undefined> {
  const reply = await sessions.at(session).result(principal, run)
  if (!reply.ok && reply.error.code === 'request_not_found') return undefined
  return unwrap(reply).pauses?.find((one) => one.call === call && one.kind === 'approval')
}
