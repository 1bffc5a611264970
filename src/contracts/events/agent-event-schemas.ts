import * as z from 'zod'
import { flag, number, text } from '../event-fields.ts'
import { deploymentKind as kind } from '../event-kind.ts'

const texts = z.array(text).readonly()
const request = {
  request: text.exactOptional().describe('the id of the request; absent if it had none'),
}
const agent = { agent: text.describe('its id'), ...request }
const version = {
  ...agent,
  version: number,
  hash: text.describe('sha-256 of its definition'),
}
const needs = texts.describe('what an operator has to allow, or has: `tool http__get`')

/** Events about agents without a plugin, besides the events of their runs. */
export const agentEventSchemas = {
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
} as const
