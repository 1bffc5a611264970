import { describe, expect, it } from 'vitest'
import { zeroUsage } from '../../../src/contracts/lease.ts'
import type { JsonObject } from '../../../src/contracts/json.ts'
import type { ScheduleSpec } from '../../../src/contracts/schedule.ts'
import type { Ask, Submitted } from '../../../src/contracts/submit-as.ts'
import { createKeeper } from '../../../src/schedules/keeper.ts'
import { createScheduleRows, type ScheduleStorage } from '../../../src/schedules/rows.ts'
import { resultOf } from '../../fakes/http-deps.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'
import { scheduleOf } from '../../fakes/schedules.ts'

/** Fires the first slot of a schedule whose runs are over at once; calls of tools answer `output`. */
async function fire(spec: Partial<ScheduleSpec>, output: JsonObject) {
  const storage = createPrincipalStorage() as ScheduleStorage // it binds whatever SQLite does
  const rows = createScheduleRows(storage)
  const asked: Ask[] = []
  const clock = { at: 0 }
  const keeper = createKeeper(rows, storage, {
    clock: { nowMs: () => clock.at, sleep: async () => {} },
    sha256,
    mayBegin: async () => true,
    report: () => {},
    index: { tell: async () => {} },
    deliver: async () => {},
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
            const usage = { ...zeroUsage, inputTokens: isCall ? 0 : 40, outputTokens: 0 }
            const direct = { output: { ok: true, call: 'direct', output } }
            const result = { ...resultOf({ result: 'News.' }), usage, ...(isCall && direct) }
            return { ok: true, value: { state: 'completed', result } }
          },
        }) as never,
    },
  })
  const { id } = rows.put(scheduleOf(spec))
  for (let look = 0; look < 6; look += 1) {
    await keeper.look()
    clock.at += 5_000
  }
  return { slot: rows.slot(id, 0), asked }
}

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
