import { approverSchema } from '#contracts/approval-words.ts'
import * as z from 'zod'
import { exposureSchema } from '#runtime/catalog/types/exposure.ts'
import { networkRuleSchema } from '#contracts/network-rule.ts'
import { toolPolicySchema } from '#runtime/kernel/types/tool-policy.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import {
  changeNetworkRequest,
  setExposedRequest,
  setPolicyRequest,
  testPolicyRequest,
} from '../types/settings-requests.ts'
import { count, flag, notes, text } from '#contracts/routes/shapes.ts'

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

/** What an operator sets: which tools may be called, where they reach, what MCP clients are offered. */
export const settingContracts = {
  'GET /api/operator/policy': {
    summary: 'Which tools may be called.',
    replies: {
      200: { is: 'The policy.', json: z.object({ generation: count, policy, lines, prompt }) },
    },
  },
  'POST /api/operator/policy': {
    summary: 'Replaces the whole policy.',
    body: setPolicyRequest,
    replies: { 200: { is: 'It holds.', json: z.object({ generation: count, policy, notes }) } },
    errors: [409],
  },
  'POST /api/operator/policy/test': {
    summary: 'What the policy says of a call, without making it.',
    body: testPolicyRequest,
    replies: {
      200: {
        is: 'What it says.',
        json: z.object({
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
          approver: approverSchema
            .optional()
            .describe('Where somebody is asked: whose yes counts.'),
        }),
      },
    },
  },
  'GET /api/operator/http': {
    summary: 'Which hosts the `http` tools may reach.',
    replies: {
      200: { is: 'The rule.', json: z.object({ generation: count, ...networkRuleSchema.shape }) },
    },
  },
  'POST /api/operator/http': {
    summary: 'Opens hosts and closes others.',
    body: changeNetworkRequest,
    replies: { 200: { is: 'It holds.', json: z.object({ generation: count, notes }) } },
    errors: [409],
  },
  'GET /api/operator/exposed': {
    summary: 'What MCP clients are offered.',
    replies: {
      200: { is: 'The choice.', json: z.object({ generation: count, exposed, lines, notes }) },
    },
  },
  'POST /api/operator/exposed': {
    summary: 'Replaces the whole choice.',
    body: setExposedRequest,
    replies: { 200: { is: 'It holds.', json: z.object({ generation: count, exposed, notes }) } },
    errors: [409],
  },
} satisfies ApiContracts
