import { describe, expect, it } from 'vitest'
import { labelFrom } from '../../../src/contracts/label.ts'
import { remoteToolDestroys } from '../../../src/features/mcp-servers/types.ts'
import { toolDestroys } from '../../../src/features/policy/types.ts'
import {
  defaultToolPolicy,
  isMatch,
  patternsIn,
  policyDiff,
  toolPolicySchema,
} from '../../../src/runtime/kernel/types/tool-policy.ts'
import { decideTool, ratesOf } from '../../../src/features/policy/decide-tool.ts'

const policyOf = (given: object) => toolPolicySchema.parse(given)
const verdictOf = (given: object, more: object = {}) =>
  decideTool(policyOf(given), {
    tool: 'kv__set',
    agent: 'orchestrator',
    principal: 'operator',
    ...more,
  })

describe('the policy of tools', () => {
  it.each([
    ['kv__set', 'kv__set', true],
    ['kv__set', 'kv__*', true],
    ['kv__set', '*', true],
    ['kv__set', 'kv__se', false],
    ['kv_2__set', 'kv__*', false],
    ['akv__set', 'kv__*', false],
    ['kv__set', 'KV__*', false],
  ])('matches %s with %s: %s', (tool, wanted, isWanted) => {
    expect(isMatch(tool, wanted)).toBe(isWanted)
  })

  it('P4: denies a denied tool, even if another rule allows it', () => {
    expect(verdictOf({ allow: ['kv__set'], deny: ['kv__*'] })).toMatchObject({
      verdict: 'deny',
      reason: 'denied_by_rule',
      rule: 'deployment: deny kv__*',
    })
    const agents = { orchestrator: { allow: ['*'] } }
    expect(verdictOf({ deny: ['*'], agents }).verdict).toBe('deny')
  })

  it('P4: asks for a call to a host that is not open, or refuses it, whatever else is listed', () => {
    const away = (given: object, more: object = {}) =>
      verdictOf(given, { isElsewhere: true, ...more })
    const asks = { verdict: 'ask', reason: 'host_not_allowed', rule: 'deployment: network ask' }
    expect(away({})).toEqual(asks)
    const listed = { allow: ['kv__*'], allow_destructive: ['kv__*'] }
    expect(away({ ...listed, network: { elsewhere: 'ask' } }, { isDestructive: true })).toEqual(
      asks,
    )
    const denies = { ...asks, verdict: 'deny', rule: 'deployment: network deny' }
    const closed = { ...listed, destructive: 'ask', network: { elsewhere: 'deny' } }
    expect(away(closed)).toEqual(denies)
    expect(away(closed, { isDestructive: true })).toEqual(denies)
    expect(verdictOf(closed, { isElsewhere: false }).verdict).toBe('allow')
  })

  it('P4, C5, I20: has a list of tools that may be called, and of tools that may not, for the deployment, an agent and a principal', () => {
    expect(verdictOf({}).verdict).toBe('allow')
    expect(verdictOf({ allow: ['http__*'] }).reason).toBe('not_in_allow_list')
    expect(verdictOf({ agents: { orchestrator: { allow: [] } } }).verdict).toBe('deny')
    expect(verdictOf({ agents: { reviewer: { allow: [] } } }).verdict).toBe('allow')
    expect(verdictOf({ principals: { operator: { deny: ['kv__*'] } } }).rule).toBe(
      'principals.operator: deny kv__*',
    )
    expect(verdictOf({ principals: { guest: { deny: ['kv__*'] } } }).verdict).toBe('allow')
  })

  it('needs every list that applies: an agent that may does not help a deployment that may not', () => {
    const agents = { orchestrator: { allow: ['kv__*'] } }
    expect(verdictOf({ allow: ['http__*'], agents }).verdict).toBe('deny')
  })

  it('takes a principal called like a part of every object for no other', () => {
    for (const principal of ['constructor', '__proto__', 'toString'])
      expect(verdictOf({}, { principal }).verdict).toBe('allow')
  })

  it('lets core tools be called without a place in a list, and not when they are denied', () => {
    const tool = 'isola__search_tools'
    expect(verdictOf({ allow: [] }, { tool }).verdict).toBe('allow')
    expect(verdictOf({ deny: ['isola__*'] }, { tool }).verdict).toBe('deny')
  })

  it('I27: asks a person before a tool that destroys, unless it is allowed or denied by name', () => {
    const destroys = { tool: 'sql__run', isDestructive: true }
    expect(verdictOf({}, destroys)).toMatchObject({ verdict: 'ask', reason: 'destructive' })
    expect(verdictOf({ destructive: 'deny' }, destroys).verdict).toBe('deny')
    expect(verdictOf({ destructive: 'deny', allow: ['*'] }, destroys).verdict).toBe('deny')
    expect(verdictOf({ allow_destructive: ['sql__*'] }, destroys).verdict).toBe('allow')
    const agents = { orchestrator: { allow_destructive: ['sql__run'] } }
    expect(verdictOf({ agents }, destroys).verdict).toBe('allow')
    expect(verdictOf({ agents }, { ...destroys, agent: 'reviewer' }).verdict).toBe('ask')
    expect(verdictOf({}, { tool: 'kv__delete', isDestructive: true }).verdict).toBe('allow')
  })

  it('I27: takes a tool for one that destroys if it says so, or may write into a database', () => {
    const write = { database: { access: 'write' } }
    expect(toolDestroys({ destructiveHint: true }, {})).toBe(true)
    expect(toolDestroys({}, write)).toBe(true)
    expect(toolDestroys({ readOnlyHint: true }, write)).toBe(false)
    expect(toolDestroys({}, { database: { access: 'read' } })).toBe(false)
  })

  it.each([
    [undefined, 'presumed'],
    [{}, 'presumed'],
    [{ readOnlyHint: false }, 'presumed'],
    [{ readOnlyHint: 'true' }, 'presumed'],
    [{ destructiveHint: 'no' }, 'presumed'],
    [{ readOnlyHint: true }, false],
    [{ destructiveHint: false }, false],
    [{ destructiveHint: true, readOnlyHint: true }, true],
  ])('I27: takes a remote tool with the annotations %j for one that destroys: %s', (given, is) => {
    expect(remoteToolDestroys(given)).toBe(is)
  })

  it('finds every rate that matches', () => {
    const rates = [
      { tools: 'kv__*', per: 'principal', calls_per_minute: 3 },
      { tools: '*', per: 'session', calls_per_minute: 9 },
      { tools: 'http__*', per: 'session', calls_per_minute: 1 },
    ]
    expect(ratesOf(policyOf({ rates }), 'kv__set')).toEqual(rates.slice(0, 2))
    expect(ratesOf(defaultToolPolicy, 'kv__set')).toEqual([])
  })

  it('says what a change adds and what it takes away', () => {
    const after = policyOf({ deny: ['kv__*'], destructive: 'deny', code_mode: ['helper'] })
    expect(policyDiff(defaultToolPolicy, after)).toMatchObject({
      added: ['deny kv__*', 'destructive tools: deny', 'code mode for helper'],
      removed: ['destructive tools: ask'],
    })
    const closed = policyDiff(
      policyOf({ agents: { a: {} } }),
      policyOf({ agents: { a: { allow: [] } } }),
    )
    expect(closed.added).toEqual(['agent a: allow nothing'])
  })

  it.each([
    [{ deny: ['k*v'] }, 'deny.0'],
    [{ deny: [''] }, 'deny.0'],
    // No tool can have such a name.
    [{ deny: ['kv set'] }, 'deny.0'],
    [{ deny: ['kv.set'] }, 'deny.0'],
    [{ allow_destructive: ['htp:*'] }, 'allow_destructive.0'],
    [{ network: { hosts: ['https://example.com'] } }, 'network.hosts.0'],
    [{ network: { hosts: ['example.com:8443'] } }, 'network.hosts.0'],
    [{ network: { hosts: ['*.com'] } }, 'network.hosts.0'],
    [{ network: { hosts: ['*.co.uk'] } }, 'network.hosts.0'],
    [{ network: { hosts: ['*.github.io'] } }, 'network.hosts.0'],
    [{ network: { hosts: ['a.*.example.com'] } }, 'network.hosts.0'],
    [{ network: { hosts: ['exam\u200bple.com'] } }, 'network.hosts.0'],
    [{ dney: [] }, ''],
    [{ rates: [{ tools: '*', per: 'hour', calls_per_minute: 1 }] }, 'rates.0.per'],
    [{ rates: [{ tools: '*', per: 'session', calls_per_minute: -1 }] }, 'rates.0.calls_per_minute'],
    [{ destructive: 'maybe' }, 'destructive'],
    [{ agents: { a: { alow: [] } } }, 'agents.a'],
  ])('refuses %j and names the field', (given, path) => {
    const parsed = toolPolicySchema.safeParse(given)
    expect(parsed.error?.issues[0]?.path.join('.')).toBe(path)
  })
})

describe('T11: rules of labels', () => {
  const page = labelFrom('http__get news.example', { confidentiality: 'public' })
  const goesTo = { method: 'GET', url: 'https://other.example/?d=1' }
  const visit = { tool: 'http__get', label: page, sinks: ['egress'] as const, goesTo }

  it('a host that is there by name is named, one that is open with all is not', () => {
    const of = (hosts: readonly string[], more: object = {}) =>
      verdictOf({ network: { hosts } }, { ...visit, ...more }).verdict
    expect(of(['*'])).toBe('ask')
    expect(of(['*', 'other.example'])).toBe('allow')
    expect(of(['*', '*.example.com'])).toBe('ask')
    expect(of(['*'], { goesTo: { ...goesTo, url: 'https://news.example/next' } })).toBe('allow')
    expect(of(['*'], { goesTo: undefined })).toBe('ask')
    expect(of(['other.example'], { label: labelFrom('crm__find') })).toBe('ask')
  })

  it('a deny that fits counts in whichever section it stands, and behind whichever rule', () => {
    const [allow, deny] = ['allow', 'deny'].map((verdict) => ({ sink: 'egress', verdict }))
    const labels = [allow, deny]
    const sections = [
      { labels },
      { labels: [allow], agents: { orchestrator: { labels } } },
      { labels: [deny], principals: { operator: { labels: [allow] } } },
    ]
    for (const policy of sections) expect(verdictOf(policy, visit).verdict).toBe('deny')
  })

  it('tools that they name are among the patterns of a policy', () => {
    const labels = [{ sink: 'egress', tools: 'htp__*', verdict: 'deny' }]
    expect(patternsIn(policyOf({ agents: { a: { labels } } }))).toContain('htp__*')
    const places = { unseen_words: ['mial__send body'], unseen_links: ['htp__get url'] }
    expect(patternsIn(policyOf(places))).toEqual(expect.arrayContaining(['mial__send', 'htp__get']))
  })
})
