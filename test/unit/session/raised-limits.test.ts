import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import { unlimited, zeroUsage, type Limits } from '#contracts/lease.ts'
import type { RunOutcome } from '#runtime/session/types/session-view.ts'
import { changeLimits } from '../../../src/runtime/session/waiting/confirm-attempt.ts'
import { beginByOutcome } from '../../../src/runtime/session/waiting/outcome-runs.ts'
import { decideCalls, takeDelivery } from '../../../src/runtime/session/waiting/outside.ts'
import { agentSpec, says, sha256, toolEntry } from '../../fakes/kernel.ts'
import {
  createSessionWorld,
  never,
  pauseMs,
  session,
  settle,
  type WorldOptions,
} from '../../switches/session-world.ts'

const asked = { mayRaise: true } as const

function setUp(options: Partial<WorldOptions> = {}) {
  const world = createSessionWorld({ script: () => ({ text: 'hi' }), ...options })
  type Life = ReturnType<typeof world.wake>
  return {
    ...world,
    raise: (life: Life, run: string, limits: Partial<Limits>) =>
      changeLimits(life.row(run), { limits, isOperator: false }, life),
    async deny(life: Life, outcome: RunOutcome): Promise<RunOutcome> {
      const { call } = pausesIn(outcome)[0]!
      const decisions = [{ call, decision: { decision: 'deny' } as const }]
      const about = { decisions, nowMs: world.clock.nowMs(), pauseMs, sha256 }
      decideCalls(life.row(outcome.id), about, life)
      return life.runs.live(outcome.id)!.done
    },
    /** What a call of the run began elsewhere is over, and begins a run. */
    async deliver(life: Life, parentRun: string): Promise<void> {
      const result = { ...says('two bugs'), usage: zeroUsage }
      const base = { agent: 'child', session: 'ses_child', call: 'call_1', isBackground: true }
      const delivery = { ...base, onOutcome: 'run' as const, parentRun, result }
      takeDelivery(delivery, life)
      const where = { runtime: world.runtime, sessionId: session, isDeleting: () => false }
      await beginByOutcome(delivery, { ...life, ...where, admit: life.take })
      await settle()
    },
  }
}

const pausesIn = (outcome: RunOutcome) => (outcome.state === 'parked' ? outcome.pauses : [])

describe('E1: a run whose limit stays as it was', () => {
  const ran: string[] = []
  const entries = [
    toolEntry('deep', async () => says('done'), {
      spends: { ...agentSpec().limits, maxDepth: -1 },
    }),
    toolEntry('child', async () => (ran.push('child'), says('done')), {
      spends: agentSpec().limits,
    }),
    toolEntry('a', async () => (ran.push('a'), says('a'))),
  ]

  it('takes nothing of what its session has not either', async () => {
    ran.length = 0
    const script: WorldOptions['script'] = () => ({ calls: [{ name: 'deep' }, { name: 'a' }] })
    const world = setUp({ entries, script })
    const life = world.wake({ id: session, limits: { maxToolCalls: 0 } })
    const parked = await life.run(asked)
    expect(pausesIn(parked)).toMatchObject([{ reached: { code: 'lease_depth' } }])
    const over = await world.deny(life, parked)
    expect(over).toMatchObject({ state: 'stopped', error: { code: 'lease_depth' } })
    expect(ran).toEqual([])
  })

  it('asks no person again, also where its object dies before it has ended', async () => {
    const mail = toolEntry('mail', async () => says('sent'), { isReadOnly: false })
    const script: WorldOptions['script'] = () => ({ calls: [{ name: 'mail' }] })
    const world = setUp({ entries: [mail], script })
    const life = world.wake({ id: session })
    const parked = await life.run({ ...asked, limits: { maxToolCalls: 0 } })
    expect(pausesIn(parked)).toMatchObject([{ reached: { code: 'lease_tool_calls' } }])
    Object.assign(world.storage, { sync: () => never })
    void world.deny(life, parked)
    await settle()
    Object.assign(world.storage, { sync: async () => {} })
    const later = world.wake()
    later.runs.resume()
    const over = await later.runs.live(parked.id)!.done
    expect(over).toMatchObject({ state: 'stopped', error: { code: 'lease_tool_calls' } })
  })

  it('takes nothing of what its day has not either', async () => {
    ran.length = 0
    const script: WorldOptions['script'] = () => ({ calls: [{ name: 'deep' }, { name: 'child' }] })
    const reserve = async () => ({ tokens: 400, costNanoUsd: 0 })
    const world = setUp({ entries, script, reserve })
    const life = world.wake({ id: session })
    const parked = await life.run(asked)
    expect(pausesIn(parked)).toMatchObject([{ reached: { code: 'lease_depth' } }])
    const over = await world.deny(life, parked)
    expect(over).toMatchObject({ state: 'stopped', error: { code: 'lease_depth' } })
    expect(ran).toEqual([])
  })
})

describe('E1: a run that an outcome begins shares the limits of the run that a person asked for', () => {
  it('as they were raised', async () => {
    const world = setUp()
    const life = world.wake()
    const parked = await life.run({ ...asked, limits: { maxTokens: 100 } })
    expect(parked.state).toBe('parked')
    world.raise(life, parked.id, { maxTokens: 300 })
    expect(await life.runs.live(parked.id)!.done).toMatchObject({ usage: { tokens: 110 } })
    await world.deliver(life, parked.id)
    expect(life.store.final(2)).toMatchObject({ state: 'completed' })
  })

  it('as they were lowered', async () => {
    const gate = Promise.withResolvers<void>()
    const world = setUp({ script: () => ({ text: 'hi', wait: gate.promise }) })
    const life = world.wake()
    const { live } = await life.take({ ...asked, limits: { maxTokens: 1_000 } })
    await settle()
    world.raise(life, live!.id, { maxTokens: 200 })
    gate.resolve()
    await live!.done
    await world.deliver(life, live!.id)
    expect(world.model.requests).toHaveLength(1)
    expect(life.store.turns(2).at(-1)?.pause?.reached).toMatchObject({ allowed: 90, needed: 150 })
  })
})

it('E1: a run that was taken in waits for its day as well as one that has begun', async () => {
  const gate = Promise.withResolvers<void>()
  let isUsedUp = false
  const world = setUp({
    script: () => ({ text: 'hi', wait: gate.promise }),
    async reserve({ asked: all }) {
      if (isUsedUp && all.tokens > 0) throw new IsolaError('lease_tokens', 'The day is used up.')
      return all
    },
  })
  const life = world.wake()
  const first = await life.take(asked)
  const second = await life.take(asked)
  await second.live!.accepted
  isUsedUp = true
  gate.resolve()
  await first.live!.done
  const parked = await second.live!.done
  expect(pausesIn(parked)).toMatchObject([{ reached: { code: 'lease_tokens' } }])
  isUsedUp = false
  world.raise(life, parked.id, { maxTokens: 1_000 })
  expect(await life.runs.live(parked.id)!.done).toMatchObject({ state: 'completed' })
  // A new run without an acknowledgement yet is refused.
  isUsedUp = true
  await expect(life.run(asked)).rejects.toMatchObject({ code: 'request_insufficient_quota' })
})

describe('E1: a day that has nothing more of one thing', () => {
  const setUpDay = (used: 'tokens' | 'costNanoUsd') => {
    const code = used === 'tokens' ? 'lease_tokens' : 'lease_cost'
    let isUsedUp = false
    const world = setUp({
      async reserve({ asked: all }) {
        if (isUsedUp && all[used] > 0) throw new IsolaError(code, 'The day is used up.')
        return all
      },
    })
    return { ...world, useUp: () => void (isUsedUp = true) }
  }

  it('says which one it is, and gives of the other', async () => {
    const world = setUpDay('costNanoUsd')
    const life = world.wake()
    const parked = await life.run({ ...asked, limits: { maxTokens: 100 } })
    world.useUp()
    world.raise(life, parked.id, { maxTokens: 1_000 })
    // The model is free.
    expect(await life.runs.live(parked.id)!.done).toMatchObject({ state: 'completed' })
    expect(world.model.requests.at(-1)!.maxCostNanoUsd).toBe(0)
  })

  it('holds back no other where an operator allows more of the one', async () => {
    const world = setUpDay('tokens')
    const life = world.wake()
    const parked = await life.run({ ...asked, limits: { maxTokens: 100 } })
    world.useUp()
    changeLimits(life.row(parked.id), { limits: { maxTokens: 1_000 }, isOperator: true }, life)
    expect(await life.runs.live(parked.id)!.done).toMatchObject({ state: 'completed' })
    expect(world.model.requests.at(-1)!.maxCostNanoUsd).toBe(unlimited)
  })
})
