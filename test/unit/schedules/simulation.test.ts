import { describe, expect, it } from 'vitest'
import { zeroUsage } from '../../../src/contracts/lease.ts'
import type { Slot } from '../../../src/runtime/session/types/schedule.ts'
import type { Submitted } from '../../../src/runtime/session/types/session-entry.ts'
import { createKeeper, type KeeperDeps } from '../../../src/features/schedules/keeper.ts'
import { createScheduleRows, type ScheduleStorage } from '../../../src/features/schedules/rows.ts'
import { isNightly } from '../../setup/nightly.ts'
import { resultOf } from '../../fakes/http-deps.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'
import { createRandom } from '../../fakes/random.ts'
import { minuteMs, scheduleOf } from '../../fakes/schedules.ts'

const slots = 1_000
const everyMs = 10 * minuteMs
const firstMs = Date.UTC(2026, 0, 1)
const dayMs = 86_400_000
const never = new Promise<never>(() => {})

/** An object that keeps one schedule, its sessions, and whatever goes wrong between them. */
function createWorld(seed: number) {
  const random = createRandom(seed)
  const storage = createPrincipalStorage()
  const rows = createScheduleRows(storage as ScheduleStorage) // it binds whatever SQLite does
  const world = { nowMs: firstMs - 1, life: 0, isCalm: false }
  /** Runs by the session and key they were asked for with. */
  const runs = new Map<string, { readonly run: string; readonly endsAtMs: number }>()
  const delivered: string[] = []
  const goesWrong = (share: number) => !world.isCalm && random.chance(share)

  /** Nothing of a life that is over answers, or is heard. */
  const inLife = (life: number) => async (): Promise<void> => {
    await Promise.resolve()
    if (life !== world.life) await never
  }
  const depsOf = (life: number): KeeperDeps => {
    const alive = inLife(life)
    const unsteady = async (): Promise<void> => {
      await alive()
      if (goesWrong(0.05)) throw new Error('away')
    }
    return {
      clock: { nowMs: () => world.nowMs, sleep: async () => {} },
      sha256,
      mayBegin: async () => true,
      report: () => {},
      index: { tell: unsteady },
      async deliver(_to, { key }) {
        await unsteady()
        delivered.push(key)
        await unsteady()
      },
      submitAs: (_asking, { session }, by) =>
        ({
          async submit() {
            await unsteady()
            const key = `${session} ${'key' in by ? by.key : ''}`
            const endsAtMs = world.nowMs + random.int(1_000, 4 * minuteMs)
            const run = runs.get(key) ?? { run: `run_${runs.size}`, endsAtMs }
            runs.set(key, run)
            await unsteady() // the run is there, and the caller may not get the answer
            return { ok: true, value: { run: run.run } }
          },
        }) as unknown as Submitted,
      sessions: {
        idFor: async (_kind, parts) => parts.join('/'),
        at: () =>
          ({
            async result(_principal: string, run: string) {
              await unsteady()
              const { endsAtMs } = [...runs.values()].find((one) => one.run === run)!
              const isOver = endsAtMs <= world.nowMs
              const usage = { ...zeroUsage, inputTokens: 1 }
              const result = { ...resultOf({ result: 'said' }), usage }
              return {
                ok: true,
                value: { state: isOver ? 'completed' : 'running', ...(isOver && { result }) },
              }
            },
          }) as never,
      },
    }
  }
  const keeperOf = () => createKeeper(rows, storage, depsOf(world.life))
  let keeper = keeperOf()
  const restart = () => {
    world.life += 1
    keeper = keeperOf()
  }
  return { world, rows, random, runs, delivered, restart, keeper: () => keeper }
}

async function simulate(seed: number): Promise<readonly Slot[]> {
  const { world, rows, random, runs, delivered, restart, keeper } = createWorld(seed)
  const when = { everyMs, anchorMs: firstMs }
  const deliver = { to: 'webhook', url: 'https://hooks.example.com' } as const
  const spec = { when, catchUp: 'all', overlap: 'queue', deliver, stopAfterFailures: 100 } as const
  const { id } = rows.put(scheduleOf(spec, { nextMs: firstMs }))
  const lastMs = firstMs + (slots - 1) * everyMs
  const silentMs = firstMs + random.int(100, 600) * everyMs
  while (world.nowMs < lastMs) {
    world.nowMs = Math.min(lastMs, world.nowMs + random.int(500, 12 * minuteMs))
    // Nothing rings for a day.
    if (world.nowMs > silentMs && world.nowMs < silentMs + dayMs) continue
    if (random.chance(0.1)) continue
    const looks = [keeper().look(), ...(random.chance(0.3) ? [keeper().look()] : [])]
    if (random.chance(0.1)) {
      for (let turn = random.int(0, 12); turn > 0; turn -= 1) await Promise.resolve()
      restart()
    } else await Promise.all(looks)
  }
  world.isCalm = true
  restart()
  for (let step = 0; step < 20_000 && rows.nextLookMs() !== undefined; step += 1) {
    world.nowMs = Math.max(world.nowMs, rows.nextLookMs() ?? 0)
    // The clock stops at the last slot: wait for the firings that have begun.
    await keeper().look()
    if (
      rows.schedule(id)!.nextMs! > lastMs &&
      rows.open(id).length === 0 &&
      rows.toLook(Infinity, 1).length === 0
    )
      break
  }
  const settled = rows.slots(id, { limit: 10_000 }).filter(({ slotMs }) => slotMs <= lastMs)
  const bySlot = Map.groupBy([...runs.keys()], (key) => key.split('/')[3]!.split(':')[0])
  const doubled = [...bySlot.values()].filter((keys) => keys.length > 1)
  expect(doubled).toEqual([])
  expect(new Set(delivered).size).toBe(new Set(bySlot.keys()).size)
  return settled
}

describe('a schedule of a thousand slots', () => {
  it.each(Array.from({ length: isNightly ? 40 : 3 }, (_, seed) => seed + 1))(
    'F10: F11: seed %i: double, late and missing rings, restarts, a day without any: none is lost, none twice',
    async (seed) => {
      const settled = await simulate(seed)
      const states = Map.groupBy(settled, ({ state }) => state)
      expect(Object.fromEntries([...states].map(([state, of]) => [state, of.length]))).toEqual({
        done: slots,
      })
      const times = settled.map(({ slotMs }) => slotMs).toSorted((a, b) => a - b)
      expect(times).toEqual(Array.from({ length: slots }, (_, slot) => firstMs + slot * everyMs))
    },
  )
})
