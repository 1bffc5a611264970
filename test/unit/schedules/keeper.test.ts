import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { zeroUsage } from '../../../src/contracts/lease.ts'
import type { JsonObject } from '../../../src/contracts/json.ts'
import type { Schedule, ScheduleSpec } from '../../../src/runtime/session/types/schedule.ts'
import type { SessionTask, Submitted } from '../../../src/runtime/session/types/session-entry.ts'
import { createKeeper } from '../../../src/features/schedules/keeper.ts'
import { createScheduleRows, type ScheduleStorage } from '../../../src/features/schedules/rows.ts'
import { resultOf } from '../../fakes/http-deps.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'
import { scheduleOf } from '../../fakes/schedules.ts'

interface Given {
  readonly text?: string
  readonly schedule?: Partial<Schedule>
  readonly deliver?: () => Promise<void>
}

/** Fires the first slot of a schedule whose runs are over at once; calls of tools answer `output`. */
async function fire(
  spec: Partial<ScheduleSpec>,
  output: JsonObject,
  { text = 'News.', schedule = {}, deliver = async () => {} }: Given = {},
) {
  const storage = createPrincipalStorage() as ScheduleStorage // it binds whatever SQLite does
  const rows = createScheduleRows(storage)
  const asked: SessionTask[] = []
  const clock = { at: 0 }
  const keeper = createKeeper(rows, storage, {
    clock: { nowMs: () => clock.at, sleep: async () => {} },
    sha256,
    mayBegin: async () => true,
    report: () => {},
    index: { tell: async () => {} },
    deliver,
    submitAs: (_asking, ask) => {
      asked.push(ask)
      const run = 'directCall' in ask ? 'run_call' : 'run_task'
      return { submit: async () => ({ ok: true, value: { run } }) } as unknown as Submitted
    },
    sessions: {
      idFor: async (_kind, parts) => parts.join('/'),
      at: () =>
        ({
          result: async (_principal: string, run: string) => {
            const isCall = run === 'run_call'
            const spent = isCall ? {} : { inputTokens: 40, costNanoUsd: 5 }
            const usage = { ...zeroUsage, ...spent }
            const direct = { output: { ok: true, call: 'direct', output } }
            const result = { ...resultOf({ result: text }), usage, ...(isCall && direct) }
            return { ok: true, value: { state: 'completed', result } }
          },
        }) as never,
    },
  })
  const { id } = rows.put(scheduleOf(spec, schedule))
  for (let look = 0; look < 60 && (rows.nextLookMs() ?? 0) <= clock.at + maxWaitMs; look += 1) {
    await keeper.look()
    clock.at = Math.max(clock.at + 5_000, rows.nextLookMs() ?? 0)
  }
  return {
    slot: rows.slot(id, 0),
    slots: rows.slots(id, { limit: 9 }),
    asked,
    own: rows.schedule(id),
  }
}

const maxWaitMs = 3_600_000
const check = { tool: 'kv__due', input: {} }

describe('a check without a model', () => {
  it('ends the slot where there is nothing to do: one call, 0 tokens, no task', async () => {
    const { slot, asked } = await fire({ check }, { shouldRun: false })
    expect(slot).toMatchObject({
      state: 'skipped',
      reason: 'its check found nothing to do',
      tokens: 0,
    })
    expect(asked).toMatchObject([{ directCall: { tool: 'kv__due' }, isStateless: true }])
  })

  it('lets the work begin where there is, which reads what it found', async () => {
    const { slot, asked } = await fire({ check }, { shouldRun: true, due: 3 })
    expect(slot).toMatchObject({ state: 'done', text: 'News.', tokens: 40 })
    expect(asked).toHaveLength(2)
    const [message] = asked[1]?.messages ?? []
    expect(message).toMatchObject({
      text: 'Go.\n\nWhat its check found:\n{"shouldRun":true,"due":3}',
    })
    expect(asked[0]?.session).not.toBe(asked[1]?.session)
  })

  it('is no leave where it answers anything else', async () => {
    for (const output of [{}, { shouldRun: 'true' }, { shouldRun: 1 }])
      expect((await fire({ check }, output)).asked).toHaveLength(1)
  })
})

describe('a call without a model', () => {
  const work = { agent: 'orchestrator', tool: 'kv__get', input: {} }
  const deliver = { to: 'webhook', url: 'https://hooks.example.com' } as const
  it('says the text that it answers, and nothing where it answers nothing', async () => {
    const said = await fire({ work, deliver }, { text: 'Cheaper.' })
    expect(said.slot).toMatchObject({ text: 'Cheaper.', delivery: { state: 'delivered' } })
    const silent = await fire({ work, deliver }, {})
    expect(silent.slot).toMatchObject({ state: 'done' })
    expect(silent.slot?.delivery).toBeUndefined()
  })
})

describe('the history of a slot', () => {
  const deliver = { to: 'webhook', url: 'https://hooks.example.com' } as const
  it('has what came of it with tokens and cost, as has the day', async () => {
    const { slot, own } = await fire({ check }, { shouldRun: true })
    expect(slot).toMatchObject({ state: 'done', text: 'News.', tokens: 40, costNanoUsd: 5 })
    expect(own?.day).toMatchObject({ day: '1970-01-01', runs: 1, tokens: 40, costNanoUsd: 5 })
  })

  it('Y10: says that its day was spent, and nothing is asked', async () => {
    const day = { day: '1970-01-01', runs: 2, tokens: 0, costNanoUsd: 0 }
    const { slot, asked } = await fire({ daily: { runs: 2 } }, {}, { schedule: { day } })
    expect(slot).toMatchObject({ state: 'skipped', reason: 'its day has had 2 firings' })
    expect(asked).toEqual([])
  })

  it('shows what was delivered, and what failed eight times with why', async () => {
    const told = await fire({ deliver }, {})
    expect(told.slot?.delivery).toMatchObject({ to: 'webhook', state: 'delivered', attempts: 1 })
    const away = async () => {
      throw new IsolaError('request_unavailable', 'hooks.example.com answered 503.')
    }
    const { slot } = await fire({ deliver }, {}, { deliver: away })
    const error = 'hooks.example.com answered 503.'
    expect(slot).toMatchObject({ state: 'done', delivery: { state: 'failed', attempts: 8, error } })
  })

  it('of one that is due once is over with it', async () => {
    const { slot, own } = await fire({ when: { atMs: [0] } }, {})
    expect(slot).toMatchObject({ state: 'done' })
    expect(own).not.toHaveProperty('nextMs')
  })
})

describe('a heartbeat', () => {
  const spec = { heartbeat: true, check, deliver: { to: 'principal' } } as const
  it('M9: tells nothing where its agent has nothing to tell, and is told so', async () => {
    for (const text of ['NOTHING', 'Nothing.', '**nothing**']) {
      const { slot, asked } = await fire(spec, { shouldRun: true }, { text })
      expect(slot).toMatchObject({ state: 'done', tokens: 40 })
      expect(slot).not.toHaveProperty('text')
      expect(slot).not.toHaveProperty('delivery')
      expect(asked[1]?.clientInstructions).toContain('only NOTHING if there is nothing')
    }
    const { slot } = await fire(spec, { shouldRun: true }, { text: 'Nothing new but milk.' })
    expect(slot).toMatchObject({ text: 'Nothing new but milk.' })
  })

  it('M9: works in one session, whichever slot it is, and checks in another', async () => {
    const first = await fire(spec, { shouldRun: true })
    const later = await fire(spec, { shouldRun: true }, { schedule: { nextMs: 200_000 } })
    expect(later.asked.map(({ session }) => session)[1]).toBe(first.asked[1]?.session)
    expect(later.asked[0]?.session).not.toBe(first.asked[0]?.session)
    expect(first.asked[1]).not.toHaveProperty('isStateless')
  })

  it.each([
    [{ notes: ['milk'] }, 2],
    [{ notes: [] }, 1],
    [{ notes: {} }, 1],
    [{ notes: '' }, 1],
    [{ notes: null }, 1],
    [{ shouldRun: true }, 1],
  ])('M9: looks whether its list holds anything: %j', async (output, times) => {
    const has = { ...spec, check: { ...check, has: 'notes' } }
    expect((await fire(has, output)).asked).toHaveLength(times)
  })
})
