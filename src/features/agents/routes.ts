import * as z from 'zod'
import { definitionDiff } from './types.ts'
import { IsolaError } from '#contracts/errors.ts'
import { noBody } from '#platform/routes/answer.ts'
import { sessionReaders, talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { count, diffedLines, flag, text } from '#platform/routes/shapes.ts'
import { changer } from '#runtime/session/requests/own.ts'
import {
  applyDefinition,
  checkSchedule,
  promoteAgent,
  setState,
  syncSchedule,
  type AgentDeps,
} from './routes/apply.ts'
import { administratorOf } from '#runtime/session/requests/asker.ts'
import {
  toListing,
  toRow,
  toVersion,
  applied,
  listed,
  onDemandHandle,
  onDemandResult,
  summary,
  version,
} from './routes/replies.ts'
import { runOnDemand, type OnDemandDeps } from './routes/on-demand.ts'
import {
  agentDiffQuery,
  agentRequest,
  approveAgentRequest,
  onDemandRequest,
  promoteAgentRequest,
  rollBackAgentRequest,
} from './routes/requests.ts'

const params = { agent: 'The agent’s id.' }
/** A change of an agent, which is answered as it then is. */
const change = {
  params,
  replies: { 200: { is: 'The agent as it then is.', json: listed } },
  errors: [403, 404, 409, 503],
}

/** `/api/agents…`: agents that need no plugin. */
export default [
  route('GET /api/agents', {
    roles: sessionReaders,
    summary: 'The agents that need no plugin, as far as you may see them.',
    replies: { 200: { is: 'At most 500.', json: z.object({ agents: z.array(listed) }) } },
    errors: [503],
    async handle({ storedAgents }: AgentDeps, request) {
      return { agents: (await storedAgents.list(administratorOf(request))).map(toRow) }
    },
  }),
  route('POST /api/agents', {
    roles: talkers,
    summary: 'Makes an agent, or its next version. What needs an operator waits for one.',
    body: agentRequest,
    replies: {
      200: { is: 'With `dryRun`, or where nothing is new.', json: applied },
      201: { is: 'The agent with the version.', headers: ['location'], json: applied },
    },
    errors: [403, 409, 503],
    handle(deps: AgentDeps, request) {
      const { dryRun: isDryRun = false, ...definition } = request.body
      return applyDefinition(deps, request, { definition, isDryRun })
    },
  }),
  route('POST /api/agents/on-demand', {
    roles: talkers,
    summary: 'Has an agent work that lives for this request: nothing that destroys or goes out.',
    headers: ['idempotency-key', 'traceparent'],
    body: onDemandRequest,
    replies: {
      200: { is: 'What it came to.', json: onDemandResult },
      202: { is: 'With `background`: where it works.', json: onDemandHandle },
    },
    errors: [403, 422, 503],
    handle: (deps: OnDemandDeps, request) => runOnDemand(deps, request, request.body),
  }),
  route('POST /api/agents/promote', {
    roles: talkers,
    summary: 'Proposes to keep an agent that was on demand. An operator approves it.',
    body: promoteAgentRequest,
    replies: {
      200: { is: 'With `dryRun`, or where nothing is new.', json: applied },
      201: { is: 'The agent, whose version waits.', headers: ['location'], json: applied },
    },
    errors: [403, 404, 409, 503],
    handle: (deps: AgentDeps & OnDemandDeps, request) => promoteAgent(deps, request, request.body),
  }),
  route('GET /api/agents/:agent', {
    roles: sessionReaders,
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
    async handle({ storedAgents }: AgentDeps, request) {
      const [id, asker] = [request.params.agent, administratorOf(request)]
      const agent = await storedAgents.show(id, asker)
      const versions = await storedAgents.versions(id, asker)
      return { ...toListing(agent), versions: versions.map((one) => toVersion(one, agent)) }
    },
  }),
  route('DELETE /api/agents/:agent', {
    roles: talkers,
    summary: 'Takes an agent away with its versions. What is on the record stays.',
    params,
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: flag }) } },
    errors: [403, 404, 503],
    async handle({ storedAgents, schedules }: AgentDeps, request) {
      const { agent: id } = request.params
      await storedAgents.remove(id, administratorOf(request), ({ owner }) =>
        schedules.ofAgents.removed({ id, owner }, changer(request.by())),
      )
      return { id, deleted: true }
    },
  }),
  route('GET /api/agents/:agent/diff', {
    roles: sessionReaders,
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
    async handle({ storedAgents }: AgentDeps, request) {
      const { from, to } = request.query
      const versions = await storedAgents.versions(request.params.agent, administratorOf(request))
      const find = (wanted: number | undefined, param: string) => {
        const found = versions.find((one) => one.version === (wanted ?? versions[0]?.version))
        if (found) return found
        const message = `${param}: there is no version ${wanted}. isola agent show lists them.`
        throw new IsolaError('request_invalid', message, { param })
      }
      const newer = find(to, 'to')
      const older = find(from ?? Math.max(1, newer.version - 1), 'from')
      const lines = definitionDiff(older.definition, newer.definition)
      return { from: older.version, to: newer.version, ...lines }
    },
  }),
  route('POST /api/agents/:agent/rollback', {
    roles: talkers,
    ...change,
    summary: 'Has a version that was in force be so again.',
    body: rollBackAgentRequest,
    async handle(deps: AgentDeps, request) {
      const { params: of, body } = request
      const before = checkSchedule(deps, request)
      const by = administratorOf(request)
      const agent = await deps.storedAgents.rollBack(of.agent, body.version, by, before)
      await syncSchedule(deps, request, agent)
      return toListing(agent)
    },
  }),
  route('POST /api/agents/:agent/archive', {
    roles: talkers,
    ...change,
    summary: 'Puts an agent aside: it is kept, and nobody runs it.',
    body: noBody,
    handle: (deps: AgentDeps, request) => setState(deps, request, 'archived'),
  }),
  route('POST /api/agents/:agent/restore', {
    roles: talkers,
    ...change,
    summary: 'Has an agent run again that was put aside.',
    body: noBody,
    handle: (deps: AgentDeps, request) => setState(deps, request, 'active'),
  }),
  route('POST /api/agents/:agent/approve', {
    roles: talkers,
    ...change,
    summary:
      'Allows what a version needs; it is in force then. Its owner allows what needs only the owner.',
    body: approveAgentRequest,
    async handle(deps: AgentDeps, request) {
      const { params: of, body } = request
      const before = checkSchedule(deps, request)
      const by = administratorOf(request)
      const agent = await deps.storedAgents.approve(of.agent, body, by, before)
      // The approved version is its owner's text, written with the key that was used then.
      await syncSchedule(deps, request, agent, agent.inForce?.asker)
      return toListing(agent)
    },
  }),
] as const
