import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { freeFields, shapeOf } from '../../../src/runtime/session/types/approval.ts'
import type { ApprovalRule } from '../../../src/runtime/session/types/approval.ts'
import { joinLabels } from '../../../src/contracts/label.ts'
import { zeroAmount } from '../../../src/contracts/lease.ts'
import type { ApprovalNeed, ApprovalSubject } from '../../../src/runtime/kernel/types/policy.ts'
import { toolPolicySchema } from '../../../src/runtime/kernel/types/tool-policy.ts'
import { createLivePolicy } from '../../../src/features/policy/live-policy.ts'
import { createToAsk } from '../../../src/features/approvals/to-ask.ts'
import { emptySnapshot } from '../../../src/runtime/catalog/catalog-gateway.ts'
import { createToolContext } from '../../fakes/tool-context.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const clock = { nowMs: () => 0, sleep: async () => {} }

/** The gate of approvals under a policy, and rules that are made of what it asks. */
function open() {
  const rules: ApprovalRule[] = []
  let policy: object = {}
  const { isNeeded } = createLivePolicy({
    snapshot: async () => ({
      ...emptySnapshot,
      pins: { policy: [{ id: 'policy', policy: toolPolicySchema.parse(policy) }] },
    }),
    ownHosts: [],
    takeRate: async () => ({}),
    toAsk: createToAsk({ rules: { of: async () => rules }, clock, sha256 }),
  }).approvals
  return {
    setPolicy: (given: object) => (policy = given),
    ask: (subject: ApprovalSubject) => isNeeded(subject),
    allow: (
      subject: ApprovalSubject,
      need: ApprovalNeed | false,
      names: readonly string[],
      definitionHash = 'v1',
    ) => {
      const approval = (need || {}).approval!
      const free = freeFields(subject.input, names)!
      rules.push({
        id: `rul_${rules.length}`,
        principal: subject.principal,
        agent: subject.agent,
        tool: subject.tool,
        definitionHash,
        free,
        shape: shapeOf(subject.input, { free, ...approval }, sha256),
        label: joinLabels([subject.label]),
        decidedBy: { principal: subject.principal, role: 'operator', via: 'inbox' },
        createdAtMs: 0,
        expiresAtMs: 1_000,
      })
    },
  }
}
const get = (url: string, more: Partial<ApprovalSubject> = {}): ApprovalSubject => ({
  ...createToolContext(),
  tool: 'http__get',
  definitionHash: 'v1',
  input: { url },
  goesTo: { method: 'GET', url },
  sinks: ['egress'],
  ...more,
})
const closed = { network: { hosts: [], elsewhere: 'ask' } }

describe('a rule of an approval', () => {
  it('T2, E6: opens no closed host but the one that the approval was for', async () => {
    const { ask, allow, setPolicy } = open()
    setPolicy(closed)
    const first = get('https://a.example/one')
    const need = await ask(first)
    expect(need).toMatchObject({ approval: { place: 'https://a.example' } })
    allow(first, need, ['url'])
    expect(await ask(get('https://a.example/two'))).toEqual({ isCovered: true })
    for (const url of ['https://b.example/one', 'http://a.example/one', 'https://a.example:8443/'])
      expect(await ask(get(url))).not.toHaveProperty('isCovered')
  })

  it('E6: covers no other reason and no other effect than those that were told', async () => {
    const { ask, allow, setPolicy } = open()
    setPolicy({ ...closed, network: { hosts: ['a.example'], elsewhere: 'ask' } })
    const destroys = get('https://a.example/one', { isDestructive: true })
    allow(destroys, await ask(destroys), ['url'])
    const other = get('https://a.example/two', { isDestructive: true })
    expect(await ask(other)).toEqual({ isCovered: true })
    expect(await ask({ ...other, sinks: ['egress', 'spend'] })).not.toHaveProperty('isCovered')
    const byTool = { ...other, isDestructive: false, asks: 'tool' } as const
    expect(await ask(byTool)).not.toHaveProperty('isCovered')
    // By now the host is closed: the approval was not about that.
    setPolicy(closed)
    const { signal } = new AbortController()
    expect(await ask({ ...other, signal })).not.toHaveProperty('isCovered')
  })

  it('C7: says what a call may spend at most, and nothing where it spends nothing', async () => {
    const { ask, setPolicy } = open()
    setPolicy(closed)
    const asking = (amount: object | undefined) =>
      ask({
        ...get('https://a.example/one'),
        ...(amount && { amount: { ...zeroAmount, ...amount } }),
      })
    const costs = [{ tokens: 700, costNanoUsd: 9_000 }, { costNanoUsd: 5_000 }, { tokens: 700 }]
    for (const cost of costs) expect(await asking(cost)).toHaveProperty('approval.mayCost', cost)
    for (const nothing of [{}, undefined])
      expect(await asking(nothing)).not.toHaveProperty('approval.mayCost')
  })

  it('T14: asks again about a tool that was changed since, and says so', async () => {
    const { ask, allow, setPolicy } = open()
    setPolicy(closed)
    const first = get('https://a.example/one')
    const need = await ask(first)
    expect(need).not.toHaveProperty('approval.outdatedRule')
    allow(first, need, [])
    expect(await ask(first)).toEqual({ isCovered: true })
    const changed = { ...first, definitionHash: 'v2' }
    expect(await ask(changed)).toMatchObject({ approval: { outdatedRule: 'rul_0' } })
    // Once a person has approved the new version, no rule is outdated any more.
    allow(changed, await ask(changed), [], 'v2')
    expect(await ask(changed)).toEqual({ isCovered: true })
  })

  it('T14: ends with the address of a server that was registered anew', async () => {
    const { ask, allow } = open()
    const at = (url: string) => ({
      ...get(url, { tool: 'crm__send', isDestructive: true }),
      input: { text: 'Hello' },
      goesTo: { origin: url },
    })
    allow(at('https://crm.example'), await ask(at('https://crm.example')), [])
    expect(await ask(at('https://crm.example'))).toEqual({ isCovered: true })
    expect(await ask(at('https://evil.example'))).not.toHaveProperty('isCovered')
  })
})
