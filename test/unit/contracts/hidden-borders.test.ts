import { describe, expect, it } from 'vitest'
import { agentDefinition } from '#contracts/manifest/agent-definition.ts'
import { onDemandDefinition } from '../../../src/features/agents/types.ts'
import { agentRequest } from '#features/agents/routes/requests.ts'
import { addKeyRequest } from '#features/access/routes/requests.ts'
import {
  scheduleChange,
  subscriptionRequest,
} from '../../../src/features/schedules/types/schedule-requests.ts'
import { scheduleRequest } from '#contracts/schedule-requests.ts'
import { setExposedRequest, setPolicyRequest } from '#features/policy/routes/requests.ts'
import { checkBundle } from '../../../src/features/plugins/admission/parse-bundle.ts'

const tag = 'Be kind.\u{e0049}'
const def = (more: object = {}, agent: object = {}) => ({
  id: 'notes',
  name: 'Notes',
  description: 'Keeps notes.',
  agent: { instructions: 'You keep notes.', ...agent },
  ...more,
})
const schedule = { when: { everyMinutes: 30 }, task: 'Look.' }
const subscribes = [{ event: 'billing.paid', task: 'Thank.' }]
const issueOf = (schema: typeof agentRequest | object, value: unknown) => {
  const parsed = (schema as typeof agentRequest).safeParse(value)
  const { path, message } = parsed.error?.issues[0] ?? {}
  return path && `${path.map(String).join('.')}: ${message}`
}

describe('I8, I9: a text that is approved, or becomes instructions, hides nothing', () => {
  it.each<[string, object, string]>([
    ['instructions', def({}, { instructions: tag }), 'agent.instructions'],
    ['a name', def({ name: 'No\u200btes' }), 'name'],
    ['a name of two lines', def({ name: 'Notes\nAllowed' }), 'name'],
    ['a description', def({ description: `a\u202eb` }), 'description'],
    [
      'what it is found by',
      def({ natural_language_description: 'a\u3164' }),
      'natural_language_description',
    ],
    ['the task of its schedule', def({ schedule: { ...schedule, task: tag } }), 'schedule.task'],
    [
      'the name of its schedule',
      def({ schedule: { ...schedule, check: { tool: 'kv__get', has: 'a\u00ad' } } }),
      'schedule.check.has',
    ],
    [
      'the task of a subscription',
      def({}, { subscribes: [{ ...subscribes[0], task: tag }] }),
      'agent.subscribes.0.task',
    ],
    [
      'the name of a tool',
      def({}, { uses_tools: ['kv__get', 'kv\u200d__set'] }),
      'agent.uses_tools.1',
    ],
    ['a model', def({}, { model: 'gpt\u2060-5' }), 'agent.model'],
    [
      'a value of its template',
      def({}, { variables: { who: 'a\u{e0041}' } }),
      'agent.variables.who',
    ],
    [
      'a name in its schema',
      def({}, { output_schema: { properties: { 'a\u200b': {} } } }),
      'agent.output_schema.properties',
    ],
    [
      'whom it is shared with',
      def({ acl: { principals: { 'ann\u200b': ['run'] } } }),
      'acl.principals',
    ],
  ])('an agent is refused with it in %s, by field, code and place', (_what, value, place) => {
    expect(issueOf(agentRequest, value)).toMatch(new RegExp(`^${place}.*: .*U\\+[0-9A-F]+`))
  })

  it('an agent on demand, and one that is promoted, alike', () => {
    const { id: _, ...about } = def({}, { instructions: `a\u200bb` })
    expect(issueOf(onDemandDefinition, about)).toMatch(/^agent\.instructions: .*U\+200B/)
    expect(issueOf(onDemandDefinition, { ...about, name: 'a\u200b' })).toMatch(/^name/)
  })

  it.each<[string, object, object, string]>([
    ['a schedule by its task', scheduleRequest, { ...schedule, task: tag }, 'task'],
    ['a schedule by its name', scheduleRequest, { ...schedule, name: 'a\u202e' }, 'name'],
    ['a change of a schedule', scheduleChange, { task: 'a\u200b' }, 'task'],
    [
      'a subscription by its task',
      subscriptionRequest,
      { event: 'billing.paid', task: tag },
      'task',
    ],
    [
      'a subscription by its name',
      subscriptionRequest,
      { event: 'billing.paid', task: 'a', name: 'a\u2028' },
      'name',
    ],
    [
      'the values that it waits for',
      subscriptionRequest,
      { event: 'billing.paid', task: 'a', where: { to: 'b\u200b' } },
      'where',
    ],
    ['a policy', setPolicyRequest, { policy: { agents: { 'a\u200b': {} } } }, 'policy'],
    [
      'a choice for MCP clients',
      setExposedRequest,
      { exposed: { agents: ['notes\u{e0041}'] } },
      'exposed',
    ],
    [
      'the agents of a key',
      addKeyRequest,
      { principal: 'ann', role: 'user', agents: ['a\u200b'] },
      'agents',
    ],
  ])('%s', (_what, schema, value, place) => {
    expect(issueOf(schema, value)).toMatch(new RegExp(`^${place}.*: .*U\\+`))
  })

  it('the prompt of a plugin’s agent, by its file', () => {
    const manifest = {
      id: 'scribe',
      name: 'scribe',
      version: '1.0.0',
      description: 'Writes.',
      agent: { integration_mode: 'tool', model: 'default', instructions: 'prompt.md' },
    }
    const add = (text: string) => () => checkBundle({ manifest, files: { 'prompt.md': text } })
    expect(add('Write.\nBe brief. 👩‍💻')).not.toThrow()
    expect(add('\ufeffWrite.')).not.toThrow()
    expect(add('Write.\u{e0049}')).toThrow(/prompt\.md.*U\+E0049, at character 7/)
    expect(add('Wri\u200bte.')).toThrow(/U\+200B/)
  })

  it.each([
    ['Persian', 'می‌خواهم یادداشت'],
    ['Hindi', 'क्‍षेत्र'],
    ['emoji', '👩‍💻 Coder ❤️'],
  ])('%s is taken, in names, tasks and instructions', (_what, text) => {
    const value = def({ name: text, schedule: { ...schedule, task: text } }, { instructions: text })
    expect(agentDefinition.safeParse(value).success).toBe(true)
    expect(scheduleRequest.safeParse({ ...schedule, name: text }).success).toBe(true)
  })
})
