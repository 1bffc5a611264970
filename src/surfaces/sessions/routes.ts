import * as z from 'zod'
import { compaction } from '#contracts/event-fields.ts'
import { unwrap } from '#contracts/reply.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import { sessionReaders, talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, object, text } from '#platform/routes/shapes.ts'
import { compactSession, type CompactDeps } from './compact.ts'
import { createSession, type CreateDeps } from './create-session.ts'
import { followEvents, type EventsDeps } from './follow-events.ts'
import { deleteSession, record, type ForOthersDeps } from '#runtime/session/requests/for-others.ts'
import { listSessions, type SessionListDeps } from './list-sessions.ts'
import { checkSessionId, inSession, openOwn } from '#runtime/session/requests/open-session.ts'
import { contextView, floor, listed, message, session } from './replies.ts'
import {
  changeSessionRequest,
  compactRequest,
  createSessionRequest,
  eventsQuery,
  sessionsQuery,
  transcriptQuery,
  treeQuery,
} from '#runtime/session/requests/session-requests.ts'
import { runState } from '#runtime/session/requests/run-replies.ts'

interface SessionDeps {
  readonly sessions: SessionGateway
}

const id = 'The session’s id: `ses_` and 22 characters.'

/** `/api/sessions…`: sessions, their conversations, and their events. */
export default [
  route('GET /api/sessions', {
    roles: sessionReaders,
    summary: 'Lists sessions, newest made first.',
    query: sessionsQuery,
    replies: {
      200: {
        is: 'A page of the list.',
        json: z.object({
          sessions: z.array(listed),
          next: text.optional().describe('There may be more: send it as `after`.'),
        }),
      },
    },
    handle: (deps: SessionListDeps, { query, caller }) => listSessions(deps, caller, query),
  }),
  route('POST /api/sessions', {
    roles: talkers,
    summary: 'Makes a session.',
    headers: ['idempotency-key'],
    body: createSessionRequest.optional(),
    replies: { 201: { is: 'The session as it was made.', headers: ['location'], json: session } },
    errors: [404, 409, 422],
    handle: (deps: CreateDeps, request) => createSession(deps, request, request.body),
  }),
  route('GET /api/sessions/:id', {
    roles: sessionReaders,
    summary: 'A session with its last runs and what hangs below them.',
    params: { id },
    query: treeQuery,
    replies: { 200: { is: 'A page of it.', json: session } },
    handle: (deps: SessionDeps, request) =>
      inSession(deps, request, async (opened) =>
        unwrap(await opened.session.tree(opened.principal, request.query)),
      ),
  }),
  route('POST /api/sessions/:id', {
    roles: talkers,
    summary: 'Changes what the orchestrator speaks as in a session, from its next run on.',
    params: { id },
    body: changeSessionRequest,
    replies: {
      200: {
        is: 'What the session is.',
        json: z.object({
          id: text,
          agent: text,
          principal: text,
          createdAtMs: atMs,
          metadata: object.optional(),
          persona: text.optional(),
        }),
      },
    },
    errors: [409],
    check: checkSessionId,
    async handle(deps: SessionDeps, request) {
      const opened = openOwn(deps, request)
      return unwrap(await opened.session.amend(opened.principal, request.body))
    },
  }),
  route('DELETE /api/sessions/:id', {
    roles: talkers,
    summary: 'Cancels what runs, and deletes the session with those of its sub-agents.',
    params: { id },
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: z.literal(true) }) } },
    errors: [409],
    handle: (deps: ForOthersDeps, request) =>
      inSession(deps, request, async (opened) => ({
        id: opened.id,
        ...(await deleteSession(deps, request, opened)),
      })),
  }),
  route('GET /api/sessions/:id/transcript', {
    roles: sessionReaders,
    summary: 'What was said and called, from the beginning.',
    params: { id },
    query: transcriptQuery,
    replies: {
      200: {
        is: 'A page of it.',
        json: z.object({
          messages: z.array(message),
          next: text.optional().describe('There is more: send it as `after`.'),
        }),
      },
    },
    handle: (deps: SessionDeps, request) =>
      inSession(deps, request, async (opened) =>
        unwrap(await opened.session.transcript(opened.principal, request.query)),
      ),
  }),
  route('GET /api/sessions/:id/context', {
    roles: sessionReaders,
    summary: 'What fills the window of its next model call.',
    params: { id },
    replies: { 200: { is: 'Part by part, with what the call costs.', json: contextView } },
    errors: [409],
    handle: (deps: SessionDeps, request) =>
      inSession(deps, request, async (opened) => ({
        session: opened.id,
        ...unwrap(await opened.session.context(opened.principal)),
      })),
  }),
  route('POST /api/sessions/:id/compact', {
    roles: talkers,
    summary: 'Compacts what was said, at rest.',
    params: { id },
    headers: ['traceparent'],
    body: compactRequest.optional(),
    replies: {
      200: {
        is: 'What it came to.',
        headers: ['location'],
        json: z.object({
          session: text,
          run: text,
          state: runState,
          compaction: z.object(compaction),
        }),
      },
    },
    errors: [409, 502, 504],
    handle: (deps: CompactDeps, request) => compactSession(deps, request, request.body),
  }),
  route('POST /api/sessions/:id/reclaim', {
    roles: talkers,
    summary: 'Takes the conversation back from the agent that it was handed to.',
    params: { id },
    replies: { 200: { is: 'What it was.', json: floor } },
    errors: [409],
    handle: (deps: ForOthersDeps, request) =>
      inSession(deps, request, async (opened) => {
        const taken = unwrap(await opened.session.reclaim(opened.principal, opened.by))
        const about = { holder: taken.holder }
        await record(deps, request, { type: 'floor_reclaimed', opened, about })
        return taken
      }),
  }),
  route('GET /api/sessions/:id/events', {
    roles: sessionReaders,
    summary: 'Everything that happened, then what happens, as it does.',
    params: { id },
    query: eventsQuery,
    headers: ['last-event-id'],
    replies: {
      200: {
        is: 'Events.',
        events:
          'Each has the kind as `event`, `<run>:<seq>` as `id`, and as `data` JSON with `type`, `data`, ' +
          '`seq`, `run`, `agent`, `trace` and `atMs`; `message_delta` has no id. The kinds are in docs/events.md.',
      },
    },
    handle: (deps: EventsDeps, request) => followEvents(deps, request, request.query),
  }),
] as const
