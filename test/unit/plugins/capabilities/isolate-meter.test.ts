import { beforeEach, describe, expect, it, vi } from 'vitest'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { unlimited, zeroUsage, type Limits } from '#contracts/lease.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { StorageRequest } from '#contracts/space.ts'
import { leaseFor } from '#runtime/kernel/leases/share.ts'
import type { CapabilityDeps } from '../../../../src/features/plugins/capabilities/capability-deps.ts'
import { loadPlugins } from '../../../../src/features/plugins/loading/in-process-host.ts'
import { createIsolateHost } from '../../../../src/features/plugins/sandbox/isolate-host.ts'
import { createIsolateMeter } from '../../../../src/features/plugins/capabilities/isolate-meter.ts'
import { toToolEntries } from '../../../../src/features/plugins/tools/tool-entries.ts'
import { systemSources } from '../../../../src/compose/sources.ts'
import { bundle, createCapabilityDeps, passAll } from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

const price = 2_000_000
const noon = Date.UTC(2026, 0, 2, 12)
const { sha256 } = systemSources

/** The objects of a deployment, and who asks them: another machine is another meter over the same. */
function createWorld() {
  const { sessions, scopedStorage } = createCapabilityDeps()
  const asked: string[] = []
  const state = { nowMs: noon, answer: '{"value":1}', isDown: false, isCut: false }
  const watch =
    (of: string, ask: (request: StorageRequest) => Promise<object>) =>
    (request: StorageRequest) => {
      asked.push(`${of} ${request.verb}`)
      if (state.isCut) return new Promise<never>(() => {})
      return state.isDown ? Promise.reject(new Error('gone')) : ask(request)
    }
  const machine = (priceNanoUsd = price): CapabilityDeps =>
    createCapabilityDeps({
      meter: createIsolateMeter({
        priceNanoUsd,
        clock: { nowMs: () => state.nowMs },
        sessions: {
          ...sessions,
          at: (id) => ({ ...sessions.at(id), storage: watch(id, sessions.at(id).storage) }),
        },
        scopedStorage: { ofPlugin: (id) => watch(id, scopedStorage.ofPlugin(id)) },
      }),
    })
  const isolates = createIsolateHost({
    runner: () => ({ run: async () => state.answer }),
    sha256,
    shimVersion: 'v',
  })
  const entryOf = (
    deps: CapabilityDeps,
    tier: TrustTier = 'community',
    manifest: Record<string, unknown> = {},
  ) => {
    const contributes = { tools: [{ name: 'go', description: 'Goes.' }] }
    const base = bundle({ id: 'far', entrypoint: 'main.js', contributes, ...manifest })
    const plugin = { ...base, isolated: { code: '', tier, grantEpoch: 0 } }
    const loaded = loadPlugins([plugin], { validator: passAll, isolates })
    return toToolEntries(loaded.plugins[0]!, deps)[0]!
  }
  return { asked, state, machine, entryOf }
}

let world: ReturnType<typeof createWorld>
beforeEach(() => void (world = createWorld()))

/** One call from a session tree with this much left; what it cost, and what it told. */
async function call(
  entry: ReturnType<typeof world.entryOf>,
  { rootSession = 'ses_a', left = unlimited } = {},
) {
  const lease: Limits = { ...defaultAgentLimits, maxCostNanoUsd: left }
  const context = createToolContext({ rootSession, lease })
  const result = await entry.tool.execute({}, context)
  return { result, cost: result.usage?.costNanoUsd, events: context.events }
}

describe('the meter of isolates', () => {
  it('books a new isolate to the call that begins it, exactly, and tells of it', async () => {
    const { result, cost, events } = await call(world.entryOf(world.machine()))
    expect(result).toMatchObject({ ok: true, usage: { ...zeroUsage, costNanoUsd: price } })
    expect(cost).toBe(price)
    expect(events).toEqual([
      {
        type: 'isolate_started',
        data: {
          call: 'call_1',
          plugin: 'far',
          version: '1.0.0',
          tier: 'community',
          isolate: expect.stringMatching(/^[0-9a-f]{12}$/),
          costNanoUsd: price,
        },
      },
    ])
  })

  it('books it once a session tree, and asks no session for a warm call', async () => {
    const entry = world.entryOf(world.machine())
    expect((await call(entry)).cost).toBe(price)
    expect(world.asked).toEqual(['ses_a claim'])
    for (let count = 0; count < 5; count += 1) {
      const { cost, events } = await call(entry)
      expect({ cost, events }).toEqual({ cost: 0, events: [] })
    }
    expect(world.asked).toHaveLength(1)
    expect((await call(entry, { rootSession: 'ses_b' })).cost).toBe(price)
  })

  it('books it once where several calls begin it at a time', async () => {
    const entry = world.entryOf(world.machine())
    const calls = await Promise.all(Array.from({ length: 8 }, () => call(entry)))
    expect(calls.filter(({ cost }) => cost === price)).toHaveLength(1)
    expect(calls.filter(({ cost }) => cost === 0)).toHaveLength(7)
  })

  it('does not book it twice after a crash, or from another machine', async () => {
    const [one, other] = [world.entryOf(world.machine()), world.entryOf(world.machine())]
    const costs = await Promise.all([call(one), call(other)])
    expect(costs.map(({ cost = 0 }) => cost).reduce((a, b) => a + b)).toBe(price)
    expect((await call(world.entryOf(world.machine()))).cost).toBe(0)
  })

  it('F6: waits for no call that a crash cut while it asked', async () => {
    const entry = world.entryOf(world.machine())
    world.state.isCut = true
    void call(entry)
    await vi.waitFor(() => expect(world.asked).toHaveLength(1))
    world.state.isCut = false
    expect((await call(entry)).cost).toBe(price)
  })

  it('books it again on another day (UTC)', async () => {
    const entry = world.entryOf(world.machine())
    expect((await call(entry)).cost).toBe(price)
    world.state.nowMs = Date.UTC(2026, 0, 3) - 1
    expect((await call(entry)).cost).toBe(0)
    world.state.nowMs += 1
    expect((await call(entry)).cost).toBe(price)
  })

  it('books trusted code once a day and version, whichever session it is', async () => {
    const [one, other] = [world.machine(), world.machine()]
    expect((await call(world.entryOf(one, 'trusted'))).cost).toBe(price)
    const rootSession = 'ses_b'
    expect((await call(world.entryOf(other, 'trusted'), { rootSession })).cost).toBe(0)
    expect(world.asked).toEqual(['far claim', 'far claim'])
    const next = world.entryOf(one, 'trusted', { config: { version: 2 } })
    expect((await call(next)).cost).toBe(price)
  })

  it('E3: refuses a call that would begin one and has not got the price', async () => {
    const entry = world.entryOf(world.machine())
    const { result, cost } = await call(entry, { left: price - 1 })
    expect(result).toMatchObject({ ok: false, error: { code: 'lease_cost' } })
    expect(cost).toBeUndefined()
    // Nothing was begun: a run that can pay for the start pays for it.
    expect((await call(entry, { left: price })).cost).toBe(price)
  })

  it('runs a warm call with nothing left, also where it was begun on another machine', async () => {
    const entry = world.entryOf(world.machine())
    await call(entry)
    expect((await call(entry, { left: 0 })).result).toMatchObject({ ok: true })
    const elsewhere = world.entryOf(world.machine())
    expect((await call(elsewhere, { left: 0 })).result).toMatchObject({ ok: true })
  })

  it('books it to a call that fails, and fails a call of which it cannot be told', async () => {
    world.state.answer = '{"error":{"code":"crashed","message":""}}'
    const failed = await call(world.entryOf(world.machine()))
    expect(failed.result.ok).toBe(false)
    expect(failed.cost).toBe(price)
    world.state.isDown = true
    const { result } = await call(world.entryOf(world.machine()))
    expect(result).toMatchObject({ ok: false, error: { code: 'tool_failed', transient: true } })
  })

  it('writes and books nothing where isolates cost nothing', async () => {
    const entry = world.entryOf(world.machine(0))
    expect((await call(entry)).events).toEqual([])
    expect(world.asked).toEqual([])
    expect(entry.feeNanoUsd).toBeUndefined()
  })
})

describe('the lease of a call that may begin an isolate', () => {
  const share = (maxCostNanoUsd: number): Limits => ({ ...defaultAgentLimits, maxCostNanoUsd })

  it('E3: takes the price out of the caller’s, or what is left', () => {
    const entry = world.entryOf(world.machine())
    expect(leaseFor(entry, share(10 * price)).amount).toMatchObject({ costNanoUsd: price })
    expect(leaseFor(entry, share(5)).amount).toMatchObject({ costNanoUsd: 5, toolCalls: 1 })
  })

  it('E3: adds it to what its code may spend itself', () => {
    const model = { models: ['openai/m'], max_tokens: 100, max_cost_usd: 0.01 }
    const entry = world.entryOf(world.machine(), 'trusted', { grants: { model } })
    expect(entry.spends?.maxCostNanoUsd).toBe(10_000_000 + price)
    expect(entry.inner?.model?.maxCostNanoUsd).toBe(10_000_000)
  })
})
