import { describe, expect, it } from 'vitest'
import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { ApprovalNeed, HookSubject } from '#runtime/kernel/types/policy.ts'
import type { RateRequest, RateVerdict } from '#runtime/session/types/principal.ts'
import { labelFrom, ownLabel, saidLabel } from '#contracts/label.ts'
import { emptySnapshot } from '../../../src/runtime/catalog/catalog-gateway.ts'
import { toolPolicySchema } from '../../../src/runtime/kernel/types/tool-policy.ts'
import { createLivePolicy } from '../../../src/features/policy/live-policy.ts'
import { says, toolEntry } from '../../fakes/kernel.ts'
import { createToolContext } from '../../fakes/tool-context.ts'
import { dataOf } from '../../fakes/events.ts'

const withPolicy = (given: object): PluginSnapshot => ({
  ...emptySnapshot,
  pins: { policy: [{ id: 'policy', policy: toolPolicySchema.parse(given) }] },
})

function open(given: object, deps: Partial<Parameters<typeof createLivePolicy>[0]> = {}) {
  const asked: { principal: string; request: RateRequest }[] = []
  const context = createToolContext()
  const subject: HookSubject = { ...context, tool: 'kv__set', input: {} }
  const gates = createLivePolicy({
    snapshot: async () => withPolicy(given),
    ownHosts: ['localhost:8787'],
    toAsk: (_subject, { about }) => (about === undefined ? {} : { about }),
    takeRate: async (principal, request): Promise<RateVerdict> => {
      asked.push({ principal, request })
      return {}
    },
    ...deps,
  })
  return { ...gates, subject, asked, events: context.events }
}
const aboutIn = (need: ApprovalNeed | false) => need && need.about
const away = async () => {
  throw new Error('away')
}
const none = { unseen_links: [] }
const limit = (per: string, most = 2) => ({
  rates: [{ tools: 'kv__*', per, calls_per_minute: most }],
})

describe('the policy gate', () => {
  it('C5: denials look alike to the model, and the record says which rule it was', async () => {
    const texts = []
    const reasons = []
    for (const given of [{ deny: ['kv__*'] }, { allow: [] }]) {
      const { policy, subject, events } = open(given)
      texts.push(await policy.decide(subject))
      reasons.push(events[0] && dataOf(events[0])['reason'])
    }
    expect(texts[0]).toEqual(texts[1])
    expect(texts[0]).toMatchObject({ allow: false, code: 'tool_denied' })
    expect(reasons).toEqual(['denied_by_rule', 'not_in_allow_list'])
  })

  it('denies while nothing is known of the policy', async () => {
    const { policy, approvals, subject, events } = open({}, { snapshot: away })
    expect(await policy.decide(subject)).toMatchObject({ allow: false, code: 'tool_denied' })
    expect(events[0]).toMatchObject({ type: 'call_denied', data: { reason: 'policy_unknown' } })
    expect(await approvals.isNeeded(subject)).toEqual({})
  })

  it('asks once for the calls of a turn that come together, so that all of them go on together', async () => {
    let asked = 0
    const snapshot = async () => {
      asked += 1
      await Promise.resolve()
      return withPolicy({})
    }
    const { policy, subject } = open({}, { snapshot })
    await Promise.all([policy.decide(subject), policy.decide({ ...subject, call: 'another' })])
    expect(asked).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 0))
    await policy.decide(subject)
    await new Promise((resolve) => setTimeout(resolve, 0))
    const { signal } = new AbortController()
    await Promise.all([policy.decide(subject), policy.decide({ ...subject, signal })])
    expect(asked).toBe(4)
  })

  it('C5: a call that begins after a change does not go by a lookup that began before it', async () => {
    const answers: ((snapshot: PluginSnapshot) => void)[] = []
    const snapshot = () => new Promise<PluginSnapshot>((resolve) => answers.push(resolve))
    const { policy, subject } = open({}, { snapshot })
    const before = policy.decide(subject)
    await new Promise((resolve) => setTimeout(resolve, 0))
    const after = policy.decide(subject)
    answers[1]!(withPolicy({ deny: ['kv__*'] }))
    expect(await after).toMatchObject({ allow: false })
    answers[0]!(withPolicy({}))
    expect(await before).toMatchObject({ allow: true })
  })

  it('I27: asks for an approval of what destroys', async () => {
    const { policy, approvals, subject } = open({})
    const destroys = { ...subject, tool: 'sql__run', isDestructive: true }
    expect(await policy.decide(destroys)).toEqual({ allow: true })
    expect(await approvals.isNeeded(destroys)).toEqual({})
    expect(await approvals.isNeeded(subject)).toBe(false)
  })
})

describe('the network of tools that read whatever address they are given', () => {
  const to = (url: string, method = 'GET') => ({ goesTo: { method, url }, tool: 'http__get' })
  const evil = 'https://evil.example/?d=notes%0A\u202e'

  it('P4: is closed by default: an approval is asked for, and shows method, host and the whole address with nothing hidden', async () => {
    const { policy, approvals, subject } = open({})
    const call = { ...subject, ...to(evil) }
    expect(await policy.decide(call)).toEqual({ allow: true })
    expect(aboutIn(await approvals.isNeeded(call))).toBe(
      'GET at evil.example, a host that this deployment has not allowed (an operator allows it: isola http allow evil.example). The whole address: https://evil.example/?d=notes%0A%E2%80%AE',
    )
    const long = aboutIn(
      await approvals.isNeeded({ ...subject, ...to(`${evil}${'x'.repeat(5_000)}`) }),
    )
    expect(String(long).length).toBeLessThan(1_500)
    expect(long).toMatch(/… \(50\d\d characters in all\)$/)
  })

  it('T11: does not name an address that the model has not seen, where that may read what is said', async () => {
    const own = { ...ownLabel, integrity: 'user' } as const
    const unseen = () => ({ own, label: labelFrom('page'), parts: [] })
    const network = { elsewhere: 'deny' }
    const { policy, approvals, subject } = open({ network }, { unseen })
    const texts = [await policy.decide({ ...subject, ...to(evil) })]
    const asked = open({}, { unseen }).approvals
    const need = aboutIn(await asked.isNeeded({ ...subject, ...to(evil), label: own }))
    expect(JSON.stringify([texts, need])).not.toContain('evil')
    expect(need).toContain('not open')
    expect(await approvals.isNeeded({ ...subject, label: own, sinks: [] })).toBe(false)
  })

  it.each([
    ['a link to a named host', 'https://docs.example/a', true, {}, false],
    ['a link elsewhere', 'https://evil.example/a', true, {}, true],
    ['words to a named host', 'https://docs.example/a', false, {}, true],
    ['a link that the operator did not let through', 'https://docs.example/a', true, none, true],
  ])('T11: of %s a person is asked or not', async (_name, url, isLink, more, isAsked) => {
    const mail = labelFrom('mail')
    const words = {
      own: saidLabel,
      label: mail,
      parts: [{ parameter: 'url', label: mail, isLink }],
    }
    const network = { hosts: ['*', 'docs.example'] }
    const given = { network, unseen_links: ['http__get url'], ...more }
    const { approvals, subject } = open(given, { unseen: () => words })
    const call = { ...subject, ...to(url), label: mail, sinks: ['egress' as const] }
    expect((await approvals.isNeeded(call)) !== false).toBe(isAsked)
    // What else that had read who makes it counts as ever.
    const notes = { ...words, own: labelFrom('notes') }
    const other = open(given, { unseen: () => notes }).approvals
    expect(await other.isNeeded(call)).not.toBe(false)
  })

  it('denies with the host and how to allow it where the operator allows no questions', async () => {
    const { policy, subject, events } = open({ network: { elsewhere: 'deny' } })
    const verdict = await policy.decide({ ...subject, ...to(evil) })
    expect(verdict).toMatchObject({ allow: false, code: 'tool_denied' })
    expect(JSON.stringify(verdict)).toContain('isola http allow evil.example')
    expect(events[0]?.data).toMatchObject({ reason: 'host_not_allowed' })
  })

  it.each([
    ['example.com', 'https://example.com/a', 'GET', false],
    ['example.com', 'https://example.com/a', 'POST', false],
    ['example.com', 'https://www.example.com/', 'GET', true],
    ['*.example.com', 'https://www.example.com/', 'GET', false],
    ['*.example.com', 'https://example.com/', 'GET', true],
    ['*.example.com', 'https://evilexample.com/', 'GET', true],
    ['example.com', 'https://example.com.evil.example/', 'GET', true],
    ['example.com', 'https://example.com@evil.example/', 'GET', true],
    ['example.com', 'https://example.com:8443/', 'GET', true],
    ['*', 'https://anywhere.example/', 'GET', false],
    // This machine is no public host: only a named address of it may be called, and the server itself, to read.
    ['*', 'http://localhost:9999/', 'GET', true],
    ['localhost:3000', 'http://localhost:3000/', 'POST', false],
    ['example.com', 'http://localhost:8787/healthz', 'GET', false],
    ['example.com', 'http://localhost:8787/healthz', 'POST', true],
    ['example.com', 'http://localhost:8788/', 'GET', true],
    ['example.com', 'http://[::1]:8787/', 'GET', true],
  ])('with %s open, asks about %s %s: %s', async (host, url, method, isAsked) => {
    const { approvals, subject } = open({ network: { hosts: [host] } })
    const needed = await approvals.isNeeded({ ...subject, ...to(url, method) })
    expect(needed !== false).toBe(isAsked)
  })

  it('asks about a request that changes something at an open host too', async () => {
    const { approvals, subject } = open({ network: { hosts: ['example.com'] } })
    const goesTo = { method: 'POST', url: 'https://example.com/' }
    const post = { ...subject, tool: 'http__request', isDestructive: true, goesTo }
    expect(await approvals.isNeeded(post)).toEqual({})
  })
})

describe('the rate gate', () => {
  it('asks no object about a tool without a limit', async () => {
    const { rates, subject, asked } = open(limit('principal'))
    expect(await rates.take({ ...subject, tool: 'http__get' }, 0)).toEqual({ allow: true })
    expect(asked).toEqual([])
  })

  it('C5: counts for the principal over its sessions, or for a session with everything below it', async () => {
    const { rates, subject, asked } = open({
      rates: [...limit('principal').rates, ...limit('session').rates],
    })
    await rates.take({ ...subject, session: 'ses_child', rootSession: 'ses_root' }, 0)
    expect(asked).toEqual([
      {
        principal: 'operator',
        request: {
          call: 'run_1:call_1',
          rules: [
            { key: '["kv__*",""]', most: 2 },
            { key: '["kv__*","ses_root"]', most: 2 },
          ],
        },
      },
    ])
  })

  it('refuses what is too often and says when to come again; the record has the rule', async () => {
    const { rates, subject, events } = open(limit('session'), {
      takeRate: async () => ({ retryAfterMs: 4_200 }),
    })
    expect(await rates.take(subject, 0)).toEqual({
      allow: false,
      code: 'tool_rate_limited',
      message: 'This tool was called too often. Try again in 5 s.',
    })
    expect(events[0]?.data).toMatchObject({ reason: 'over_rate', rule: 'kv__* per session' })
  })

  it('refuses what cannot be counted', async () => {
    const { rates, subject, events } = open(limit('session'), { takeRate: away })
    expect(await rates.take(subject, 0)).toMatchObject({ code: 'tool_rate_limited' })
    expect(events[0]?.data).toMatchObject({ reason: 'rate_unknown' })
  })
})

describe('C3: of tools that were found', () => {
  const tool = (name: string, more: object = {}) => toolEntry(name, async () => says(''), more)
  const tools = [tool('kv__set'), tool('kv__get'), tool('sql__execute', { isDestructive: true })]
  const by = { agent: 'orchestrator', principal: 'ada' }

  it.each([
    ['nothing, where nothing is forbidden', {}, []],
    ['what a rule denies', { deny: ['kv__*'] }, ['kv__set', 'kv__get']],
    ['what no list allows', { allow: ['kv__*'] }, ['sql__execute']],
    ['what an agent may not', { agents: { orchestrator: { deny: ['kv__set'] } } }, ['kv__set']],
    ['what a principal may not', { principals: { ada: { deny: ['kv__get'] } } }, ['kv__get']],
    ['nothing that another may not', { principals: { bob: { deny: ['*'] } } }, []],
    ['what destroys, where that is denied', { destructive: 'deny' }, ['sql__execute']],
    ['nothing that somebody is asked about', { destructive: 'ask' }, []],
  ])('denies %s', async (_what, given, expected) => {
    expect(await open(given).deniedOf(tools, by)).toEqual(expected)
  })

  it('denies nothing while the policy is unknown: each call is refused then', async () => {
    expect(await open({}, { snapshot: away }).deniedOf(tools, by)).toEqual([])
  })
})
