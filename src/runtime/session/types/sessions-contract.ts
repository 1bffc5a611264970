import * as z from 'zod'
import { label as labelOfValue } from '#contracts/event-fields.ts'
import { contextPartKinds } from '#runtime/kernel/types/context-view.ts'
import { imageDetails } from '#contracts/message-parts.ts'
import { compaction } from '#contracts/event-fields.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import {
  changeSessionRequest,
  compactRequest,
  createSessionRequest,
  eventsQuery,
  sessionsQuery,
  transcriptQuery,
  treeQuery,
} from './sessions-requests.ts'
import { runState, runView, usageSum } from './run-view-contract.ts'
import { atMs, count, flag, json, object, text, usd } from '#contracts/routes/shapes.ts'

const id = 'The session’s id: `ses_` and 22 characters.'

const listed = z
  .object({
    id: text,
    agent: text.nullable().describe('`null` until its first run says which.'),
    principal: text,
    createdAtMs: atMs,
    usedAtMs: atMs,
    runs: count,
    state: runState.nullable().describe('Of the last run; `null` before the first.'),
    isStateless: flag,
  })
  .meta({ id: 'SessionListing' })

const floor = z
  .object({
    holder: text.describe('The tool that has the conversation.'),
    state: z.enum(['held', 'ended']),
    sinceMs: atMs,
    untilMs: atMs,
    messages: count.describe('That it answered, after the one that was handed over.'),
    maxMessages: count,
    tokens: count,
    maxTokens: count,
    costUsd: usd,
    reason: text.optional().describe('Why it ended.'),
    endedAtMs: atMs.optional(),
  })
  .meta({ id: 'Floor' })

const own = z.object({
  id: text,
  agent: text.describe('Empty until the first run says which.'),
  principal: text,
  createdAtMs: atMs,
  metadata: object.optional(),
  persona: text.optional().describe('What the orchestrator speaks as in it.'),
  trace: text.optional(),
  parent: z.object({ session: text, run: text, call: text }).optional(),
  runs: z.array(runView).describe('In accept order: all of them, or the last ones.'),
  earlier: text.optional().describe('There are earlier runs: send it as `before`.'),
  floor: floor.optional().describe('Who has the conversation, or had it last.'),
  usage: usageSum,
  costEstimateUsd: usd,
})

/** A session with those of its sub-agents. */
export interface SessionView extends z.infer<typeof own> {
  // Named, since declarations that are made of the schema cannot say what refers to itself.
  children: SessionView[]
  moreChildren?: string | undefined
}
const session: z.ZodType<SessionView> = z
  .object({
    ...own.shape,
    get children() {
      return z.array(session).describe('The sessions of its sub-agents.')
    },
    moreChildren: text.optional().describe('Not all of them fit: send it as `fromChild`.'),
  })
  .meta({ id: 'Session' })

const taint = z.array(text).describe('Where it came from.')
const label = labelOfValue.optional().describe('Who can have written it, and who may read it.')
const image = z.object({
  url: text,
  detail: z.enum(imageDetails).optional().describe('How closely the model looks.'),
  offset: count
    .optional()
    .describe('How many characters of the text come before it; absent: all of them.'),
})
const message = z
  .discriminatedUnion('role', [
    z.object({ role: z.literal('system'), text }),
    z.object({
      role: z.literal('user'),
      text,
      images: z.array(image).optional(),
      name: text.optional().describe('Which of several speakers said it.'),
      taint,
      label,
    }),
    z.object({
      role: z.literal('assistant'),
      text,
      name: text.optional(),
      toolCalls: z.array(z.object({ id: text, name: text, input: object })).optional(),
      by: text.optional().describe('The tool that had the conversation and said it.'),
      taint,
      label,
    }),
    z.object({
      role: z.literal('tool'),
      callId: text,
      name: text,
      output: json,
      isError: flag,
      decided: z.literal(true).optional().describe('A person allowed this call, or answered it.'),
      taint,
      label,
    }),
  ])
  .meta({ id: 'Message' })

const contextView = z.object({
  session: text,
  agent: text,
  model: text.optional(),
  tokens: count,
  windowTokens: count.optional(),
  maxOutputTokens: count.optional(),
  startTokens: count.optional(),
  targetTokens: count.optional(),
  parts: z.array(z.object({ kind: z.enum(contextPartKinds), tokens: count, count })),
  saidMessages: count,
  costUsd: z.object({ input: usd, atMost: usd }).optional(),
})

/** `/api/sessions…` but for runs. */
export const sessionContracts = {
  'GET /api/sessions': {
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
  },
  'POST /api/sessions': {
    summary: 'Makes a session.',
    headers: ['idempotency-key'],
    body: createSessionRequest,
    isBodyOptional: true,
    replies: { 201: { is: 'The session as it was made.', headers: ['location'], json: session } },
    errors: [404, 409, 422],
  },
  'GET /api/sessions/:id': {
    summary: 'A session with its last runs and what hangs below them.',
    params: { id },
    query: treeQuery,
    replies: { 200: { is: 'A page of it.', json: session } },
  },
  'POST /api/sessions/:id': {
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
  },
  'DELETE /api/sessions/:id': {
    summary: 'Cancels what runs, and deletes the session with those of its sub-agents.',
    params: { id },
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: z.literal(true) }) } },
    errors: [409],
  },
  'GET /api/sessions/:id/transcript': {
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
  },
  'GET /api/sessions/:id/context': {
    summary: 'What fills the window of its next model call.',
    params: { id },
    replies: { 200: { is: 'Part by part, with what the call costs.', json: contextView } },
    errors: [409],
  },
  'POST /api/sessions/:id/compact': {
    summary: 'Compacts what was said, at rest.',
    params: { id },
    headers: ['traceparent'],
    body: compactRequest,
    isBodyOptional: true,
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
  },
  'POST /api/sessions/:id/reclaim': {
    summary: 'Takes the conversation back from the agent that it was handed to.',
    params: { id },
    replies: { 200: { is: 'What it was.', json: floor } },
    errors: [409],
  },
  'GET /api/sessions/:id/events': {
    summary: 'Everything that happened, then what happens, as it does.',
    params: { id },
    query: eventsQuery,
    headers: ['last-event-id'],
    replies: {
      200: {
        is: 'Events.',
        events:
          'Each has the kind as `event`, `<run>:<seq>` as `id`, and as `data` JSON with `type`, `data`, `seq`, `run`, `agent`, `trace` and `atMs`; `message_delta` has no id. The kinds are in docs/events.md.',
      },
    },
  },
} satisfies ApiContracts
