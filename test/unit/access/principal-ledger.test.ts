import { describe, expect, it } from 'vitest'
import { unlimited } from '../../../src/contracts/lease.ts'
import type {
  DayAmount,
  Incident,
  PrincipalApi,
} from '../../../src/runtime/session/types/principal.ts'
import type { PlatformAmounts } from '../../../src/contracts/platform.ts'
import { createPrincipalLedger } from '../../../src/features/access/principal-ledger.ts'
import { sha256 } from '../../fakes/kernel.ts'

const asked: DayAmount = { tokens: 100, costNanoUsd: unlimited }
const request = { principal: 'operator', session: 'ses_a', run: 'run_a', asked }
const settled = { principal: 'operator', session: 'ses_a', run: 'run_a', spent: asked }
const none: DayAmount = { tokens: unlimited, costNanoUsd: unlimited }
const incident: Incident = { kind: 'audit_behind', session: 'ses_a', message: 'Later.' }

/** A namespace whose objects answer in turn what the test says; the last answer stays. */
function open(
  answers: readonly (() => unknown)[] = [],
  limitsOf: () => DayAmount = () => ({ tokens: 1_000, costNanoUsd: unlimited }),
) {
  const names: string[] = []
  const calls: unknown[][] = []
  let nowMs = 1_790_000_000_000
  const answer =
    (method: string) =>
    async (...args: readonly unknown[]) => {
      calls.push([method, ...args])
      return (answers[Math.min(calls.length, answers.length) - 1] ?? (() => ok(null)))()
    }
  const namespace = {
    getByName: (name: string) => {
      names.push(name)
      return {
        reserve: answer('reserve'),
        settle: answer('settle'),
        usage: answer('usage'),
        report: answer('report'),
        incidents: answer('incidents'),
      } as unknown as PrincipalApi
    },
  }
  const clock = { nowMs: () => nowMs, sleep: async () => undefined }
  const others: PlatformAmounts[] = []
  const deployment = { count: (more: PlatformAmounts) => void others.push(more) }
  const ledger = createPrincipalLedger({ namespace, sha256, clock, limitsOf, deployment })
  return { ledger, names, calls, others, tick: (ms: number) => void (nowMs += ms) }
}

const ok = (value: unknown) => ({ ok: true, value })
const breaks = (flags: object) => () => {
  throw Object.assign(new Error('Durable Object reset because its code was updated.'), flags)
}

describe('the ledger of principals', () => {
  it('asks no object and counts nothing where no limit is set', async () => {
    const { ledger, names } = open([], () => none)
    expect(await ledger.reserve(request)).toBe(asked)
    await ledger.settle(settled)
    expect(names).toEqual([])
  })

  it('E1: settles the spending of a piece although no limit is set any more', async () => {
    const { ledger, calls } = open([() => ok(null)], () => none)
    await ledger.settle({ ...settled, piece: 'next:run_a' })
    expect(calls).toEqual([['settle', { ...settled, piece: 'next:run_a' }]])
  })

  it("E1: reserves and settles with the principal's own object, by a name that tells nothing", async () => {
    const { ledger, names, calls } = open([() => ok({ tokens: 40, costNanoUsd: unlimited })])
    expect(await ledger.reserve(request)).toEqual({ tokens: 40, costNanoUsd: unlimited })
    await ledger.settle(settled)
    await ledger.settle({ ...settled, principal: 'somebody' })
    expect(calls).toEqual([
      ['reserve', request, { tokens: 1_000, costNanoUsd: unlimited }],
      ['settle', settled],
      ['settle', { ...settled, principal: 'somebody' }],
    ])
    expect(names[0]).toBe(sha256('9:principal8:operator'))
    expect([names[1], names[2]]).toEqual([names[0], sha256('9:principal8:somebody')])
  })

  it('E9: books what an answer cost with the run that asked, and the rest with the deployment', async () => {
    const billed = { own: { rowsWritten: 4 }, others: { rowsWritten: 9, wakes: 1 } }
    const { ledger, calls, others } = open([() => ({ ...ok(asked), billed })])
    const own: PlatformAmounts[] = []
    const counted = (more: PlatformAmounts) => void own.push(more)
    await ledger.reserve({ ...request, counted })
    expect([own, others]).toEqual([[billed.own], [billed.others]])
    expect(calls[0]![1]).toEqual(request)
    await ledger.usage('operator')
    expect(others).toEqual([billed.others, billed.own, billed.others])
  })

  it('E1: throws what the day refuses, with when it is worth asking again', async () => {
    const error = { code: 'lease_tokens', message: 'The day is used up.', retryAfterMs: 60_000 }
    const { ledger } = open([() => ({ ok: false, error })])
    await expect(ledger.reserve(request)).rejects.toMatchObject(error)
  })

  it.each([
    ['breaks', {}, 1],
    ['was reset, twice', { durableObjectReset: true }, 2],
    ['may be asked again, in vain', { retryable: true }, 2],
    ['is overloaded', { overloaded: true, retryable: true }, 1],
  ])('E1: fails closed when the object %s', async (_name, flags, attempts) => {
    const { ledger, calls } = open([breaks(flags)])
    await expect(ledger.reserve(request)).rejects.toMatchObject({
      code: 'request_unavailable',
      retryAfterMs: 5_000,
    })
    expect(calls).toHaveLength(attempts)
    await expect(ledger.settle(settled)).rejects.toMatchObject({ code: 'request_unavailable' })
  })

  it('asks once more, on a new stub, when the object was reset', async () => {
    const { ledger, names } = open([
      breaks({ durableObjectReset: true }),
      () => ok({ tokens: 1, costNanoUsd: 1 }),
    ])
    expect(await ledger.reserve(request)).toEqual({ tokens: 1, costNanoUsd: 1 })
    expect(names).toHaveLength(2)
  })

  it('E1: fails closed when the limits cannot be read', async () => {
    const { ledger, names } = open([], () => {
      throw new Error('ISOLA_DAILY_TOKENS: must be a whole number')
    })
    await expect(ledger.reserve(request)).rejects.toMatchObject({ code: 'request_unavailable' })
    await expect(ledger.settle(settled)).rejects.toMatchObject({ code: 'request_unavailable' })
    expect(names).toEqual([])
  })
})

describe('reporting incidents', () => {
  it("goes to the operator's object, limit or not, and throws nothing", async () => {
    const { ledger, names, calls } = open([breaks({})], () => none)
    ledger.report(incident)
    await Promise.resolve()
    expect(calls).toEqual([['report', incident]])
    expect(names).toEqual([sha256('9:principal8:operator')])
  })

  it('says the same at most once a second, but always that it is over', () => {
    const { ledger, calls, tick } = open()
    const over = { ...incident, isOver: true }
    for (const one of [incident, incident, over, over, incident]) ledger.report(one)
    tick(999)
    ledger.report(incident)
    tick(1)
    ledger.report(incident)
    ledger.report({ ...incident, session: 'ses_b' })
    ledger.report({ ...incident, kind: 'storage_failed' })
    expect(calls.map(([, one]) => one)).toEqual([
      incident,
      over,
      incident,
      incident,
      { ...incident, session: 'ses_b' },
      { ...incident, kind: 'storage_failed' },
    ])
  })

  it('does not bury the object when a thousand sessions fail together', () => {
    const { ledger, calls, tick } = open()
    for (let index = 0; index < 3_000; index += 1)
      ledger.report({ ...incident, session: `ses_${index}` })
    expect(calls).toHaveLength(20)
    tick(1_000)
    ledger.report({ ...incident, session: 'ses_9999' })
    expect(calls).toHaveLength(21)
  })
})
