import { describe, expect, it } from 'vitest'
import { unlimited, zeroUsage } from '../../../src/contracts/lease.ts'
import { defaultPrincipalTiming } from '../../../src/runtime/session/types/principal.ts'
import type { RunSpending } from '../../../src/runtime/session/types/submission.ts'
import { createDayLedger } from '../../../src/features/access/day-ledger.ts'
import { createPrincipalRows } from '../../../src/features/access/principal-rows.ts'
import { sweep } from '../../../src/features/access/sweep-job.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'
import { createFakeGateway } from '../../fakes/session-gateway.ts'

const limits = { tokens: 1_000, costNanoUsd: unlimited }

function open(runs: readonly string[]) {
  let nowMs = 1_790_000_000_000
  const ledger = createDayLedger(createPrincipalRows(createPrincipalStorage()), {
    ...defaultPrincipalTiming,
    sweepEveryMs: 60,
  })
  for (const run of runs) {
    const asked = { tokens: 10, costNanoUsd: 0 }
    ledger.reserve({ principal: 'p', session: `ses_${run}`, run, asked }, limits, nowMs)
  }
  const next = () => (nowMs += 60)
  return { ledger, next, clock: { nowMs: () => nowMs, sleep: () => new Promise<void>(() => {}) } }
}

describe('a sweep', () => {
  it('I3: asks every session by itself; a session that fails or hangs keeps its reservation and no other', async () => {
    const { ledger, next, clock } = open(['broken', 'hangs', 'over', 'unknown'])
    const asked: string[] = []
    const spentBy = (run: string): Promise<RunSpending> => {
      asked.push(run)
      if (run === 'hangs') return new Promise(() => {})
      if (run === 'broken') return Promise.reject(new Error('Network connection lost.'))
      const state = run === 'over' ? 'over' : 'unknown'
      return Promise.resolve({ state, usage: { ...zeroUsage, tokens: 7 } })
    }
    // What hangs is given up by the clock, as soon as everything else is done.
    const sleep = () => new Promise<void>((resolve) => setTimeout(resolve, 20))
    const options = { checks: ledger.checks, sessions: createFakeGateway({ spentBy }) }
    for (const _ of [1, 2]) {
      next()
      await sweep({ ...options, clock: { ...clock, sleep } })
    }
    expect(asked.toSorted()).toEqual(['broken', 'hangs', 'over', 'unknown'])
    expect(ledger.usage(limits, clock.nowMs())).toMatchObject({
      settled: { tokens: 7 },
      reserved: { tokens: 20 },
      openRuns: 2,
    })
    next()
    await sweep({ ...options, clock: { ...clock, sleep } })
    expect(asked.slice(4).toSorted()).toEqual(['broken', 'hangs'])
  })

  it('asks eight at a time', async () => {
    const { ledger, next, clock } = open(Array.from({ length: 40 }, (_, index) => `run_${index}`))
    let busy = 0
    let most = 0
    const spentBy = async (): Promise<RunSpending> => {
      most = Math.max(most, (busy += 1))
      await new Promise((resolve) => setTimeout(resolve, 1))
      busy -= 1
      return { state: 'unknown', usage: zeroUsage }
    }
    for (const _ of [1, 2]) {
      next()
      await sweep({ checks: ledger.checks, sessions: createFakeGateway({ spentBy }), clock })
    }
    expect(most).toBe(8)
    expect(ledger.checks.nextMs(clock.nowMs())).toBeUndefined()
  })
})
