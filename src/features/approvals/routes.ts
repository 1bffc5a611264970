import * as z from 'zod'
import { approvalEntrySchema } from '#runtime/session/types/approval.ts'
import { defaultListLimit } from '#platform/routes/queries.ts'
import { installers, pluginReaders } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { flag, text, reply } from '#platform/routes/shapes.ts'
import { requireApprove } from '#runtime/session/requests/for-others.ts'
import { pause, runView } from '#runtime/session/requests/run-replies.ts'
import { decideEntry, decideTogether, findEntry, pauseOf, type InboxDeps } from './routes/inbox.ts'
import { approvalsQuery, inboxDecision, inboxDecisions } from './routes/requests.ts'
import { defined } from '#contracts/defined.ts'

const entry = approvalEntrySchema.meta({ id: 'Approval' })
const id = 'The entry’s id: `apr_` and 22 characters.'

/**
 * `/api/operator/approvals…`: calls of all sessions that wait for approval. An author sees those that wait for an
 * author.
 */
export default [
  route('GET /api/operator/approvals', {
    roles: pluginReaders,
    summary: 'Lists calls that wait for a yes, of all sessions, newest first.',
    query: approvalsQuery,
    replies: reply(
      200,
      'A page of them, as the record has them: a moment old. An author sees those that wait for an author.',
      z.object({
        approvals: z.array(entry),
        next: text.optional().describe('There may be more: send it as `after`.'),
      }),
    ),
    async handle({ approvals }: InboxDeps, { query, caller }) {
      const { state = 'open', limit = defaultListLimit, after, ...more } = query
      const [atMs, id] = after?.split('-') ?? []
      const { entries, next } = await approvals.list({
        ...defined(more),
        ...(caller.role === 'author' && { approver: 'author' }),
        state,
        limit,
        ...(id !== undefined && { after: { atMs: Number(atMs), id } }),
      })
      return { approvals: entries, ...(next && { next: `${next.atMs}-${next.id}` }) }
    },
  }),
  route('POST /api/operator/approvals', {
    roles: installers,
    summary:
      'Decides about several calls of one shape, each by the hash of its arguments. Each has an outcome of its own.',
    body: inboxDecisions,
    replies: reply(
      200,
      'What became of each, in the order of the request.',
      z.object({
        decided: z.array(
          z.object({
            id: text,
            ok: flag,
            code: text.optional(),
            message: text.optional().describe('Why it was not taken.'),
          }),
        ),
      }),
    ),
    errors: [409],
    handle: (deps: InboxDeps, request) => decideTogether(deps, request, request.body),
  }),
  route('GET /api/operator/approvals/:id', {
    roles: pluginReaders,
    summary: 'A call that waits or waited for a yes.',
    params: { id },
    replies: reply(
      200,
      'It, with its arguments as its session has them while it waits.',
      entry.extend({ pause: pause.nullable() }),
    ),
    async handle(deps: InboxDeps, { params, caller }) {
      const found = await findEntry(deps, caller, params.id)
      return { ...found, pause: (await pauseOf(deps, found)) ?? null }
    },
  }),
  route('POST /api/operator/approvals/:id', {
    roles: installers,
    summary: 'Decides about it, as in its session. Without `argsHash` the one of the entry counts.',
    params: { id },
    body: inboxDecision,
    replies: reply(200, 'The run as it then is.', runView),
    errors: [409],
    async handle(deps: InboxDeps, request) {
      const { params, caller, body: decision } = request
      requireApprove(request, decision)
      const found = await findEntry(deps, caller, params.id)
      return decideEntry(deps, request, { entry: found, decision })
    },
  }),
] as const
