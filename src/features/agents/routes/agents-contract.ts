import * as z from 'zod'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import {
  agentDiffQuery,
  agentRequest,
  approveAgentRequest,
  onDemandRequest,
  promoteAgentRequest,
  rollBackAgentRequest,
} from './agents-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { atMs, count, diffedLines, flag, object, text, warnings } from '#contracts/routes/shapes.ts'

const version = z
  .object({
    version: count,
    hash: text.describe('sha-256 of its definition.'),
    state: z.enum(['in force', 'waiting', 'earlier']),
    createdBy: text,
    createdAtMs: atMs,
    needs: z.array(text).describe('What an operator has to allow, or has: `tool http__get`.'),
    approvedBy: text.optional(),
    approvedAtMs: atMs.optional(),
    from: text.optional().describe('The session of the agent on demand that it was.'),
    definition: object,
  })
  .meta({ id: 'AgentVersion' })
export type AgentVersionView = z.infer<typeof version>

const summary = {
  id: text,
  name: text.optional().describe('Of the version in force.'),
  description: text.optional(),
  owner: text,
  state: z
    .enum(['active', 'archived', 'waiting'])
    .describe('`waiting`: no version is in force yet.'),
  version: count.optional().describe('In force.'),
  newest: count,
  createdAtMs: atMs,
}
const listed = z.object(summary).meta({ id: 'StoredAgent' })
export type AgentListing = z.infer<typeof listed>
const applied = z
  .object({
    ...summary,
    isNew: flag.describe('`false`: it had this text already.'),
    applied: version,
    warnings,
  })
  .meta({ id: 'AppliedAgent' })

const onDemandHandle = z
  .object({ session: text, run: text, expiresAtMs: atMs, tempId: text.optional() })
  .meta({ id: 'OnDemandHandle' })
const onDemandResult = z
  .object({
    session: text,
    run: text,
    state: text,
    result: text,
    output: object.optional(),
    error: z.object({ code: text, message: text }).optional(),
    usage: object,
    costEstimateUsd: z.number(),
    expiresAtMs: atMs.optional().describe('Absent: it is gone.'),
    tempId: text.optional(),
  })
  .meta({ id: 'OnDemandResult' })

const params = { agent: 'The agent’s id.' }
const asItIs = { 200: { is: 'The agent as it then is.', json: listed } }

/** `/api/agents…`: agents that need no plugin. */
export const agentContracts = {
  'GET /api/agents': {
    summary: 'The agents that need no plugin, as far as you may see them.',
    replies: { 200: { is: 'At most 500.', json: z.object({ agents: z.array(listed) }) } },
    errors: [503],
  },
  'POST /api/agents': {
    summary: 'Makes an agent, or its next version. What needs an operator waits for one.',
    body: agentRequest,
    replies: {
      200: { is: 'With `dryRun`, or where nothing is new.', json: applied },
      201: { is: 'The agent with the version.', headers: ['location'], json: applied },
    },
    errors: [403, 409, 503],
  },
  'POST /api/agents/on-demand': {
    summary: 'Has an agent work that lives for this request: nothing that destroys or goes out.',
    headers: ['idempotency-key', 'traceparent'],
    body: onDemandRequest,
    replies: {
      200: { is: 'What it came to.', json: onDemandResult },
      202: { is: 'With `background`: where it works.', json: onDemandHandle },
    },
    errors: [403, 422, 503],
  },
  'POST /api/agents/promote': {
    summary: 'Proposes to keep an agent that was on demand. An operator approves it.',
    body: promoteAgentRequest,
    replies: {
      200: { is: 'With `dryRun`, or where nothing is new.', json: applied },
      201: { is: 'The agent, whose version waits.', headers: ['location'], json: applied },
    },
    errors: [403, 404, 409, 503],
  },
  'GET /api/agents/:agent': {
    summary: 'An agent with its versions, the newest first: those for who may edit it, or audits.',
    params,
    replies: {
      200: {
        is: 'The agent.',
        json: z
          .object({ ...summary, versions: z.array(version) })
          .meta({ id: 'AgentWithVersions' }),
      },
    },
    errors: [404, 503],
  },
  'DELETE /api/agents/:agent': {
    summary: 'Takes an agent away with its versions. What is on the record stays.',
    params,
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: flag }) } },
    errors: [403, 404, 503],
  },
  'GET /api/agents/:agent/diff': {
    summary: 'What is different between two versions of an agent, by position.',
    params,
    query: agentDiffQuery,
    replies: {
      200: {
        is: 'Lines, each with where it stands in the definition.',
        json: z.object({
          from: count,
          to: count,
          added: z.array(text).describe('Those that moved, too.'),
          removed: z.array(text).describe('Those that moved, too.'),
          moved: z.array(text).describe('Lines that stand at another place.'),
          lines: diffedLines,
        }),
      },
    },
    errors: [404, 503],
  },
  'POST /api/agents/:agent/rollback': {
    summary: 'Has a version that was in force be so again.',
    params,
    body: rollBackAgentRequest,
    replies: asItIs,
    errors: [403, 404, 409, 503],
  },
  'POST /api/agents/:agent/archive': {
    summary: 'Puts an agent aside: it is kept, and nobody runs it.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: asItIs,
    errors: [403, 404, 409, 503],
  },
  'POST /api/agents/:agent/restore': {
    summary: 'Has an agent run again that was put aside.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: asItIs,
    errors: [403, 404, 409, 503],
  },
  'POST /api/agents/:agent/approve': {
    summary:
      'Allows what a version needs; it is in force then. Its owner allows what needs only the owner.',
    params,
    body: approveAgentRequest,
    replies: asItIs,
    errors: [403, 404, 409, 503],
  },
} satisfies ApiContracts
