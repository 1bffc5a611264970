import * as z from 'zod'
import { approvalScope } from '../approval.ts'
import {
  deploymentKind as kind,
  flag,
  number,
  ownerOf as owner,
  request,
  text,
  texts,
} from '../event-fields.ts'

const agent = { agent: text.describe('its id'), ...request }
const version = {
  ...agent,
  version: number,
  hash: text.describe('sha-256 of its definition'),
}
const needs = texts.describe('what an operator has to allow, or has: `tool http__get`')
const aSchedule = {
  schedule: text.describe('its id'),
  owner: text.describe('whose object keeps it: `principal:<name>`, `plugin:<id>` or `agent:<id>`'),
  name: text,
}
const session = { session: text, owner, ...request }

/**
 * Events about what principals own: agents without a plugin and schedules, besides the events of their runs, and
 * operators' actions in other principals' sessions.
 */
export const ownedEventSchemas = {
  agent_added: kind('An agent was made that needs no plugin.', {
    ...version,
    needs,
    isInForce: flag.describe('`false` while it waits for an operator'),
    from: text.exactOptional().describe('the session of the agent on demand that it was'),
  }),
  agent_changed: kind('An agent has a new version.', {
    ...version,
    needs,
    isInForce: flag.describe('`false` while it waits for an operator'),
  }),
  agent_approved: kind('An operator allowed what a version of an agent needs; it is in force.', {
    ...version,
    needs,
  }),
  agent_rolled_back: kind('A version of an agent that was in force is so again.', version),
  agent_archived: kind('An agent was archived: it runs no more.', agent),
  agent_restored: kind('An agent that was put aside runs again.', agent),
  agent_deleted: kind('An agent was taken away with its versions.', agent),
  agent_begun_on_demand: kind('An agent was made for one request.', {
    session: text,
    hash: text.describe('sha-256 of its definition'),
    name: text,
    tools: texts.describe('what it named'),
    tempId: text.exactOptional().describe('what its maker called it'),
    ...request,
  }),
  schedule_added: kind('A schedule was made.', aSchedule),
  schedule_changed: kind('A schedule was changed.', {
    ...aSchedule,
    reason: text.exactOptional().describe('the names of the changed fields'),
  }),
  schedule_paused: kind('A schedule was paused, or stopped by itself after failures.', {
    ...aSchedule,
    reason: text.exactOptional(),
  }),
  schedule_resumed: kind('A schedule goes on.', aSchedule),
  schedule_removed: kind('A schedule was taken away.', aSchedule),
  subscription_stopped: kind(
    'An event began no run, for this reason: the first of it within an hour.',
    {
      ...aSchedule,
      event: text.describe('its id: the session and the place in its log'),
      eventName: text,
      depth: number.describe('how many runs events had begun one after the other'),
      reason: text,
    },
  ),
  schedule_missed: kind('Slots of a schedule that were not fired in time and are not caught up.', {
    schedule: text,
    owner: text.describe('whose object keeps it'),
    count: number,
    fromMs: number.describe('the first of them, epoch milliseconds'),
    toMs: number.describe('the last of them'),
    reason: text.describe('of the first of them'),
  }),
  run_cancelled: kind('An operator cancelled somebody’s run.', { ...session, run: text }),
  call_decided: kind('An operator decided about a call in somebody’s session.', {
    ...session,
    run: text,
    call: text,
    tool: text,
    kind: text,
    argsHash: text,
    decision: text,
    scope: approvalScope.exactOptional().describe('of a yes: how far it goes'),
    rule: text.exactOptional().describe('the id of the rule that it made'),
  }),
  approval_rule_revoked: kind(
    'A rule of an earlier approval was taken back: what it covered asks again.',
    {
      rule: text,
      owner,
      agent: text,
      tool: text,
      scope: approvalScope.describe('`session` or `rule`: where it held'),
      ...request,
    },
  ),
  limits_changed: kind('An operator changed the limits of somebody’s run.', {
    ...session,
    run: text,
    limits: text.describe('the changed limits, as JSON'),
  }),
  attempt_confirmed: kind('What a failed request to a model came to that may have reached it.', {
    ...session,
    run: text,
    attempt: text.describe('its id: session, run and place in the log'),
    heldTokens: number.describe('what it was booked with'),
    heldCostNanoUsd: number,
    tokens: number.describe('what it came to; the rest is given back'),
    costNanoUsd: number,
  }),
  floor_reclaimed: kind('An operator took a conversation back.', { ...session, holder: text }),
  session_compacted: kind('An operator compacted what was said in somebody’s session.', {
    ...session,
    run: text.describe('the run that did'),
  }),
  session_deleted: kind('An operator deleted somebody’s session.', {
    ...session,
    step: z.enum(['asked', 'done']),
  }),
} as const
