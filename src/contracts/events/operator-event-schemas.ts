import * as z from 'zod'
import { approvalScope } from '../approval-schemas.ts'
import { deploymentKind as kind } from '../event-kind.ts'

const text = z.string()
const number = z.number()
const request = {
  request: text.exactOptional().describe('the id of the request; absent if it had none'),
}
const owner = text.describe('the principal whose it is')
const session = { session: text, owner, ...request }

/** Events about operators' actions in other principals' sessions. */
export const operatorEventSchemas = {
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
