import { describe, expect, it } from 'vitest'
import type { Emitted } from '../../../src/runtime/session/types/audit-sink.ts'
import type { EventChain } from '#contracts/event-bus.ts'
import { saidLabel } from '#contracts/label.ts'
import type { Wanted } from '../../../src/runtime/session/types/schedule.ts'
import { follow, heardLabel, isMatch, visibilityOf } from '../../../src/features/schedules/chain.ts'
import { createRandom } from '../../fakes/random.ts'
import { isNightly } from '../../setup/nightly.ts'

const when: Wanted = { event: 'shop.paid', of: 'own', ttlMs: 60_000, maxDepth: 4 }
const chainOf = (more: Partial<EventChain> = {}): EventChain => ({
  cause: 'ses:1',
  depth: 1,
  via: ['sub_other'],
  maxDepth: 4,
  expiresAtMs: 60_000,
  ...more,
})

describe('what a subscription wants', () => {
  const event = { name: 'shop.paid', payload: { amount: 5, isNew: true, note: 'a' } }
  it('is a whole name, or all of one emitter, and fields that are equal', () => {
    expect(isMatch(when, event)).toBe(true)
    expect(isMatch({ ...when, event: 'shop.*' }, event)).toBe(true)
    expect(isMatch({ ...when, event: 'sho.*' }, event)).toBe(false)
    expect(isMatch({ ...when, event: 'shop.pai' }, event)).toBe(false)
    expect(isMatch({ ...when, where: { amount: 5, isNew: true } }, event)).toBe(true)
    expect(isMatch({ ...when, where: { amount: '5' } }, event)).toBe(false)
    expect(isMatch({ ...when, where: { toString: 'x' } }, event)).toBe(false)
  })
})

describe('who may see an event', () => {
  const ada = { asker: { principal: 'ada' }, owner: 'principal:ada' } as const
  it('N12: its own principal, every principal where it is public, and a principal with the right to see all, while the right lasts', () => {
    const everybody = { ...when, of: 'everybody' } as const
    expect(visibilityOf(ada, when, { principal: 'ada' })).toBe('yes')
    expect(visibilityOf(ada, when, { principal: 'bob' })).toBe('no')
    expect(visibilityOf(ada, when, { principal: 'bob', isPublic: true })).toBe('yes')
    expect(visibilityOf(ada, everybody, { principal: 'bob' })).toBe('role')
  })
  it('N12: a subscription of a manifest sees no more by working in the operator’s name', () => {
    const plugin = { asker: { principal: 'operator' }, owner: 'plugin:spy' } as const
    expect(visibilityOf(plugin, { ...when, of: 'everybody' }, { principal: 'bob' })).toBe('no')
  })
})

describe('a chain of events', () => {
  const event = { id: 'ses:7', atMs: 0 }
  it('Y28: begins with a person’s request, and counts from there', () => {
    expect(follow({ id: 'sub_a', when }, event, 1)).toEqual({
      chain: { cause: 'ses:7', depth: 1, via: ['sub_a'], maxDepth: 4, expiresAtMs: 60_000 },
    })
    const next = follow({ id: 'sub_b', when }, { ...event, chain: chainOf() }, 1)
    expect(next).toMatchObject({ chain: { depth: 2, via: ['sub_other', 'sub_b'] } })
  })
  it('Y28: does not come back to a subscription that is in it', () => {
    const chain = chainOf({ via: ['sub_a', 'sub_b'], depth: 2 })
    expect(follow({ id: 'sub_a', when }, { ...event, chain }, 1)).toMatchObject({
      why: expect.stringContaining('does not come back'),
    })
  })
  it('Y28: ends at the least depth that a subscription on the way allows', () => {
    const chain = chainOf({ depth: 2, maxDepth: 2 })
    expect(follow({ id: 'sub_a', when }, { ...event, chain }, 1)).toHaveProperty('why')
    const own = { ...when, maxDepth: 1 }
    expect(follow({ id: 'sub_a', when: own }, { ...event, chain: chainOf() }, 1)).toHaveProperty(
      'why',
    )
  })
  it('Y28: expires with the first of its times to live', () => {
    expect(follow({ id: 'sub_a', when }, event, 60_000)).toEqual({ why: 'the event is too old' })
    const later = { id: 'ses:8', atMs: 50_000, chain: chainOf() }
    expect(follow({ id: 'sub_a', when }, later, 59_999)).toMatchObject({
      chain: { expiresAtMs: 60_000 },
    })
    expect(follow({ id: 'sub_a', when }, later, 60_000)).toEqual({ why: 'the event is too old' })
  })

  /** Runs of a chain over a random graph: each emits some events, and each event reaches some subscriptions. */
  function runsOf(seed: number, density: number) {
    const random = createRandom(seed)
    const [subscriptions, maxDepth, fanOut] = [random.int(1, 6), random.int(1, 4), random.int(1, 3)]
    const ids = Array.from({ length: subscriptions }, (_, index) => `sub_${index}`)
    const wants = new Map(ids.map((id) => [id, ids.filter(() => random.chance(density))]))
    const open: Pick<Emitted, 'id' | 'atMs' | 'chain'>[] = [{ id: 'ses:0', atMs: 0 }]
    const from = new Map<string, readonly string[]>([['ses:0', ids]])
    let runs = 0
    for (let event = open.pop(); event; event = open.pop())
      for (const id of from.get(event.id) ?? []) {
        const next = follow({ id, when: { ...when, maxDepth } }, event, 1)
        if ('why' in next) continue
        runs += 1
        expect(new Set(next.chain.via).size).toBe(next.chain.via.length)
        for (let emitted = 0; emitted < fanOut; emitted += 1) {
          const said = { id: `ses:${runs}.${emitted}`, atMs: 0, chain: next.chain }
          from.set(said.id, wants.get(id) ?? [])
          open.push(said)
        }
      }
    // At each depth one subscription fewer is left, and each event of a run may reach all of them.
    let [bound, atDepth] = [0, 1]
    for (let depth = 0; depth < Math.min(maxDepth, subscriptions); depth += 1) {
      atDepth *= (subscriptions - depth) * (depth === 0 ? 1 : fanOut)
      bound += atDepth
    }
    return { runs, bound }
  }
  it('Y28: over any graph of subscriptions begins no more runs than their number, depth and events allow', () => {
    for (let seed = 1; seed <= (isNightly ? 2_000 : 100); seed += 1) {
      const { runs, bound } = runsOf(seed, 0.7)
      expect(runs, `seed ${seed}`).toBeLessThanOrEqual(bound)
      // Where each hears of each the bound is what comes: it is none that nothing could reach.
      const all = runsOf(seed, 1)
      expect(all.runs, `seed ${seed}`).toBe(all.bound)
    }
  })
})

describe('the label of what was heard', () => {
  const label = saidLabel
  it('T11: is never the user’s: the own data, or a stranger’s where another principal emitted it', () => {
    const event = { name: 'shop.paid', label, principal: 'ada' }
    expect(heardLabel(event, 'ada')).toMatchObject({ integrity: 'data', confidentiality: 'said' })
    expect(heardLabel(event, 'bob')).toMatchObject({ integrity: 'stranger' })
  })
})
