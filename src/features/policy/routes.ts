import * as z from 'zod'
import { approverSchema } from '#contracts/approval.ts'
import { exposureSchema } from '#runtime/catalog/types/generation.ts'
import { networkRuleSchema } from '#runtime/kernel/types/network-rule.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import { policyLines, toolPolicySchema } from '#runtime/kernel/types/tool-policy.ts'
import { changeBy } from '#runtime/session/requests/asker.ts'
import { operators, readers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { count, flag, notes, text, reply } from '#platform/routes/shapes.ts'
import { readExposed, setExposed, type ExposedDeps } from './routes/exposed.ts'
import { setPolicy, testPolicy, type PolicyDeps } from './routes/policy.ts'
import {
  changeNetworkRequest,
  setExposedRequest,
  setPolicyRequest,
  testPolicyRequest,
} from './routes/requests.ts'

interface NetworkDeps {
  readonly plugins: Pick<PluginAdministration, 'policy' | 'change'>
}

const policy = toolPolicySchema.meta({ id: 'ToolPolicy' })
const exposed = exposureSchema.meta({ id: 'Exposure' })
const prompt = z
  .object({
    tokens: count.describe('Instructions and definitions of tools, by estimate.'),
    most: count,
    pinned: z
      .array(z.object({ name: text, tokens: count }))
      .describe('What is pinned and there, with what its definition takes.'),
    left: z.array(text).describe('What is pinned and there, and found no room.'),
  })
  .describe("What the orchestrator's model sees before anybody says anything.")
const lines = z.array(text).describe('The same in lines, each of which says one thing.')

/**
 * `/api/operator/policy…`, `/api/operator/http` (hosts that the `http` tools may reach) and `/api/operator/exposed`
 * (agents, tools and skills that MCP clients are offered).
 */
export default [
  route('GET /api/operator/policy', {
    roles: readers,
    summary: 'Which tools may be called.',
    replies: reply(200, 'The policy.', z.object({ generation: count, policy, lines, prompt })),
    needsAgents: true,
    async handle({ plugins, agents }: PolicyDeps) {
      const { generation, policy: now } = await plugins.policy()
      const seen = await agents.promptUnder(now)
      return { generation, policy: now, lines: policyLines(now), prompt: seen }
    },
  }),
  route('POST /api/operator/policy', {
    roles: operators,
    summary: 'Replaces the whole policy.',
    body: setPolicyRequest,
    replies: reply(200, 'It holds.', z.object({ generation: count, policy, notes })),
    errors: [409],
    needsAgents: true,
    handle: (deps: PolicyDeps, request) => setPolicy(deps, request, request.body),
  }),
  route('POST /api/operator/policy/test', {
    roles: readers,
    summary: 'What the policy says of a call, without making it.',
    body: testPolicyRequest,
    replies: reply(
      200,
      'What it says.',
      z.object({
        tool: text,
        agent: text,
        principal: text,
        isDestructive: flag,
        verdict: z.enum(['allow', 'ask', 'deny']),
        reason: z.enum([
          'allowed',
          'denied_by_rule',
          'not_in_allow_list',
          'host_not_allowed',
          'destructive',
          'label',
        ]),
        rule: text,
        about: text.optional().describe('Where a label decided: what somebody is told.'),
        label: testPolicyRequest.shape.label,
        sinks: testPolicyRequest.shape.sinks,
        url: testPolicyRequest.shape.url,
        rates: toolPolicySchema.shape.rates,
        approver: approverSchema.optional().describe('Where somebody is asked: whose yes counts.'),
      }),
    ),
    needsAgents: true,
    handle: (deps: PolicyDeps, { body }) => testPolicy(deps, body),
  }),
  route('GET /api/operator/http', {
    roles: readers,
    summary: 'Which hosts the `http` tools may reach.',
    replies: reply(200, 'The rule.', z.object({ generation: count, ...networkRuleSchema.shape })),
    async handle({ plugins }: NetworkDeps) {
      const { generation, policy: now } = await plugins.policy()
      return { generation, ...now.network }
    },
  }),
  route('POST /api/operator/http', {
    roles: operators,
    summary: 'Opens hosts and closes others.',
    body: changeNetworkRequest,
    replies: reply(200, 'It holds.', z.object({ generation: count, notes })),
    errors: [409],
    async handle({ plugins }: NetworkDeps, request) {
      const { allow, deny, elsewhere } = request.body
      const change = { do: 'network', allow, deny, ...(elsewhere && { elsewhere }) } as const
      const { generation, notes: said } = await plugins.change(change, changeBy(request))
      return { generation, notes: said }
    },
  }),
  route('GET /api/operator/exposed', {
    roles: readers,
    summary: 'What MCP clients are offered.',
    replies: reply(200, 'The choice.', z.object({ generation: count, exposed, lines, notes })),
    needsAgents: true,
    handle: (deps: ExposedDeps) => readExposed(deps),
  }),
  route('POST /api/operator/exposed', {
    roles: operators,
    summary: 'Replaces the whole choice.',
    body: setExposedRequest,
    replies: reply(200, 'It holds.', z.object({ generation: count, exposed, notes })),
    errors: [409],
    needsAgents: true,
    handle: (deps: ExposedDeps, request) => setExposed(deps, request, request.body),
  }),
] as const
