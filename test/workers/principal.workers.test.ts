import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { unlimited } from '#contracts/lease.ts'
import type { DayAmount, DayUsage, PrincipalApi } from '#runtime/session/types/principal.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import { composeRuntime } from '../../src/compose/composition.ts'
import { createAuditSink } from '../../src/features/record/store/audit-log.ts'
import { batchOf } from '../fakes/audit-batch.ts'
import { call, callJson } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'
import { storedEvent } from '../fakes/events.ts'

const sweepEveryMs = 60_000
const limits: DayAmount = { tokens: 1_000, costNanoUsd: unlimited }

/** The binding without its methods, whose types are too deep for the compiler. */
const namespace = env.PRINCIPAL as unknown as DurableObjectNamespace
const nameOf = (principal: string) => sha256(`9:principal${principal.length}:${principal}`)
const stubOf = (principal: string) => namespace.getByName(nameOf(principal))
const at = (principal: string) => stubOf(principal) as unknown as PrincipalApi

let count = 0
const newPrincipal = () => `key_${(count += 1)}`
const valueOf = <T>(reply: ObjectReply<T>): T => {
  if (!reply.ok) throw new Error(reply.error.message)
  return reply.value
}
const reserve = (principal: string, run: string, tokens: number, session = 'ses_nowhere') =>
  at(principal).reserve(
    { principal, session, run, asked: { tokens, costNanoUsd: unlimited } },
    limits,
  )
const usageOf = async (principal: string): Promise<DayUsage> =>
  valueOf(await at(principal).usage(limits))

/** Wakes the object one interval later, as the platform would. */
async function wake(principal: string): Promise<boolean> {
  vi.setSystemTime(Date.now() + sweepEveryMs)
  return runDurableObjectAlarm(stubOf(principal))
}
const tablesOf = (principal: string) =>
  runInDurableObject(stubOf(principal), (_instance, { storage }) =>
    storage.sql
      .exec(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
      .toArray()
      .map(({ name }) => String(name)),
  )

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

describe("a principal's object", () => {
  it('E9: says with each answer what that cost, and the cost of earlier work without a run', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const principal = newPrincipal()
    const first = await reserve(principal, 'run_1', 30)
    expect(first.billed?.own).toMatchObject({ requests: 1 })
    expect(first.billed?.own.rowsWritten).toBeGreaterThanOrEqual(2)
    await wake(principal)
    const later = await at(principal).usage(limits)
    expect(later.billed?.others).toMatchObject({ requests: 1, alarms: expect.any(Number) })
    expect(later.billed?.others.rowsWritten).toBeGreaterThan(0)
    expect(later.billed?.own.rowsWritten ?? 0).toBe(0)
  })

  it('E1: gives no more than the day has, however many ask at once', async () => {
    const principal = newPrincipal()
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, index) => reserve(principal, `run_${index}`, 30)),
    )
    const granted = replies.flatMap((reply) => (reply.ok ? [reply.value.tokens] : []))
    expect(granted).toHaveLength(34)
    expect(granted.reduce((sum, tokens) => sum + tokens, 0)).toBe(1_000)
    expect(replies.flatMap((reply) => (reply.ok ? [] : [reply.error.code]))[0]).toBe('lease_tokens')
  })

  it('E1: I3: forgets nothing when it is restarted', async () => {
    const principal = newPrincipal()
    await reserve(principal, 'run_a', 600)
    await abortAllDurableObjects()
    expect(await reserve(principal, 'run_b', 600)).toMatchObject({ value: { tokens: 400 } })
    const spent = { tokens: 500, costNanoUsd: 5 }
    const settled = { principal, session: 'ses_nowhere', run: 'run_a', spent }
    valueOf(await at(principal).settle(settled))
    await abortAllDurableObjects()
    valueOf(await at(principal).settle(settled))
    expect(await usageOf(principal)).toMatchObject({
      settled: spent,
      reserved: { tokens: 400 },
      openRuns: 1,
    })
  })

  it('I3: frees what a crash left of a run that its session never wrote, by itself after a restart', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const principal = newPrincipal()
    await reserve(principal, 'run_lost', 600)
    await abortAllDurableObjects()
    expect(await wake(principal)).toBe(true)
    expect(await usageOf(principal)).toMatchObject({ openRuns: 1 })
    expect(await wake(principal)).toBe(true)
    expect(await usageOf(principal)).toMatchObject({
      settled: { tokens: 0 },
      reserved: { tokens: 0 },
      openRuns: 0,
    })
    expect(await wake(principal)).toBe(false) // nothing is open, so nothing wakes it
  })

  it('I3: settles what a run spent that is over and never said so', async () => {
    withModel(() => ({ text: 'done' }))
    const { id: session } = await callJson('/api/sessions', { json: {} })
    const { id: run } = await callJson(`/api/sessions/${session}/runs`, {
      json: { task: 'go', wait: true },
    })
    vi.useFakeTimers({ toFake: ['Date'] })
    const principal = newPrincipal()
    await reserve(principal, run, 600, session)
    await wake(principal)
    await wake(principal)
    expect(await usageOf(principal)).toMatchObject({
      settled: { tokens: 110 },
      reserved: { tokens: 0 },
      openRuns: 0,
    })
  })

  it('makes no table for a principal that was only looked at', async () => {
    const principal = newPrincipal()
    expect(await usageOf(principal)).toMatchObject({ openRuns: 0 })
    expect(valueOf(await at(principal).incidents(5))).toEqual([])
    expect((await tablesOf(principal)).filter((name) => !name.startsWith('_cf'))).toEqual([])
  })
})

describe('the ledger over real objects', () => {
  const ledgerWith = (settings: object) =>
    composeRuntime({ ...env, ...settings } as unknown as Env).session.principals
  const leaseOf = (principal: string, run: string) => ({
    principal,
    session: 'ses_nowhere',
    run,
    asked: { tokens: 150, costNanoUsd: unlimited },
  })

  it('E1: keeps a principal to the limits of the settings', async () => {
    const principal = newPrincipal()
    const ledger = ledgerWith({ ISOLA_DAILY_TOKENS: '200', ISOLA_DAILY_COST_USD: '8' })
    expect(await ledger.reserve(leaseOf(principal, 'run_a'))).toEqual({
      tokens: 150,
      costNanoUsd: 1_000_000_000,
    })
    expect(await ledger.reserve(leaseOf(principal, 'run_b'))).toMatchObject({ tokens: 50 })
    await expect(ledger.reserve(leaseOf(principal, 'run_c'))).rejects.toMatchObject({
      code: 'lease_tokens',
      message: expect.stringContaining('200 tokens'),
    })
    await ledger.settle({ ...leaseOf(principal, 'run_a'), spent: { tokens: 9, costNanoUsd: 0 } })
    expect(await ledger.reserve(leaseOf(principal, 'run_c'))).toMatchObject({ tokens: 141 })
  })

  it('takes no notice of any object where nothing is limited', async () => {
    const principal = newPrincipal()
    const ledger = ledgerWith({})
    const lease = leaseOf(principal, 'run_a')
    expect(await ledger.reserve(lease)).toEqual(lease.asked)
    await ledger.settle({ ...lease, spent: { tokens: 9, costNanoUsd: 0 } })
    expect(await usageOf(principal)).toMatchObject({ settled: { tokens: 0 }, openRuns: 0 })
  })
})

describe("the operator's page", () => {
  it("shows the operator's day, and incidents until they are over", async () => {
    const incident = { kind: 'audit_behind', session: 'ses_a', message: 'Later.' } as const
    valueOf(await at('operator').report(incident))
    valueOf(await at('operator').report(incident))
    const health = await callJson('/api/operator/health')
    expect(health).toMatchObject({
      status: 'degraded',
      database: 'ok',
      incidents: { counts: { audit_behind: 1 }, newest: [{ ...incident, count: 2 }] },
    })
    valueOf(await at('operator').report({ ...incident, isOver: true }))
    expect(await callJson('/api/operator/health')).toMatchObject({
      status: 'ok',
      incidents: { counts: {}, newest: [] },
    })
    expect(await callJson('/api/operator/usage')).toMatchObject({
      principal: 'operator',
      limits: { tokens: null, costUsd: null },
    })
  })

  it('N12: lists a run once that the record gave up, though the batch came twice, and drops it', async () => {
    const run = `run_${'G'.repeat(22)}`
    const data = { state: 'failed', code: 'run_given_up', message: 'Interrupted too often.' }
    const event = { seq: 1, run, agent: 'orchestrator', trace: 'aa', atMs: 5 } as const
    const sink = createAuditSink(env.DB)
    const owner = { session: `ses_${'G'.repeat(22)}`, principal: 'operator', sinceMs: 1 }
    for (const _ of [1, 2])
      await sink.append(owner, batchOf([storedEvent({ ...event, type: 'run_finished', data })]))
    const { runs } = await callJson('/api/operator/runs')
    expect(runs).toMatchObject([{ run, state: 'open', message: 'Interrupted too often.' }])
    // Its session was never there: the row tells what is known.
    expect(await callJson(`/api/operator/runs/${run}`)).toMatchObject({ run, view: null })
    expect((await call(`/api/operator/runs/${run}/drop`, { method: 'POST' })).status).toBe(200)
    expect(await callJson('/api/operator/runs')).toEqual({ runs: [] })
  })
})
