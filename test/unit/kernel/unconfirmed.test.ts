import { describe, expect, it } from 'vitest'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { EventDraft } from '#contracts/event.ts'
import { addUsage, unlimited, zeroUsage } from '#contracts/lease.ts'
import type { ModelCallOptions, ModelEstimate, ModelRequest } from '#contracts/model.ts'
import { createGenerate } from '../../../src/runtime/kernel/leases/generate.ts'
import { createLedger } from '../../../src/runtime/kernel/leases/ledger.ts'
import { fittedRequest } from '../../../src/platform/models/model-providers.ts'
import { createFakeClock } from '../../fakes/kernel.ts'

const estimate = { tokens: 5_000, costNanoUsd: 900 }
const request: ModelRequest = { model: 'big', messages: [], tools: [], parameters: {} }

/** Requests that fail as `fail` has it, each tried again as often as the lease allows. */
async function failing(fail: (call: ModelCallOptions) => IsolaError, maxTokens = 50_000) {
  const ledger = createLedger({ ...defaultAgentLimits, maxTokens, maxCostNanoUsd: unlimited })
  const events: EventDraft[] = []
  let usage = zeroUsage
  let tries = 0
  const ask = createGenerate({
    models: {
      id: 'vendor',
      select: () => ({ provider: 'vendor', model: 'big', substituted: false }),
      estimate: () => estimate,
      async generate(_asked, call) {
        for (;;) {
          tries += 1
          call.onSent()
          const failure = fail(call)
          if (tries === 3 || !call.mayRetry(failure)) throw failure
        }
      },
    },
    clock: createFakeClock(),
    ledger,
    signal: new AbortController().signal,
    emit: (event) => events.push(event),
    onSpent: (spent) => void (usage = addUsage(usage, spent)),
    about: (count) => ({ turn: 1, request: count }),
    onDelta: () => {},
    isWatched: () => false,
    onSent: () => {},
    lostCalls: 0,
    headersOf: () => ({}),
  })
  await expect(ask(request)).rejects.toBeInstanceOf(IsolaError)
  const booked = events.flatMap((event) =>
    event.type === 'model_failed' ? [event.data.bookedTokens] : [],
  )
  return { tries, usage, booked, ledger }
}

const network = new IsolaError('model_network', 'Broken.', { transient: true })
const late = new IsolaError('model_timeout', 'Late.', { transient: true })

describe('E1: a dead model server costs nothing', () => {
  // How a transport fails, and that nothing was sent then, is in upstream-faults.workers.test.ts: here both are given.
  it.each([
    ['the network', network],
    ['the time', late],
    ['something unknown', new IsolaError('model_invalid_reply', 'Odd.')],
  ])('three attempts that never left, by %s, book nothing', async (_name, failure) => {
    const { tries, usage, booked, ledger } = await failing((call) => {
      call.onUnsent?.()
      return failure
    })
    expect([tries, booked]).toEqual([3, [0, 0, 0]])
    expect(usage).toEqual(zeroUsage)
    expect([ledger.settled().tokens, ledger.reserved().tokens]).toEqual([0, 0])
  })

  it('a request that may have reached it stays booked, as unconfirmed, within the same sums', async () => {
    const { usage, ledger } = await failing(() => network)
    expect(usage).toMatchObject({
      tokens: 15_000,
      costNanoUsd: 2_700,
      unconfirmed: { tokens: 15_000, costNanoUsd: 2_700 },
    })
    expect([ledger.settled().tokens, ledger.reserved().tokens]).toEqual([15_000, 0])
  })

  it('is tried again only while the lease holds what is unconfirmed and the next attempt', async () => {
    const { tries, ledger } = await failing(() => network, 9_999)
    expect(tries).toBe(1)
    expect(ledger.settled().tokens).toBe(5_000)
    expect((await failing(() => network, 10_000)).tries).toBe(2)
  })

  it('an answer that had begun is unconfirmed, whatever broke it', async () => {
    const { usage } = await failing((call) => {
      call.onBegun()
      return new IsolaError('model_unavailable', 'Gone.')
    }, 5_000)
    expect(usage.unconfirmed?.tokens).toBe(5_000)
  })

  it('a refused request is neither', async () => {
    const { usage } = await failing(() => new IsolaError('model_unavailable', 'Busy.'))
    expect([usage.tokens, usage.unconfirmed, usage.modelCalls]).toEqual([0, undefined, 3])
  })
})

describe('E1: the output cap is lowered to what is left', () => {
  const input = 1_000
  const estimateOf = ({ parameters }: ModelRequest): ModelEstimate => {
    const output = parameters.maxOutputTokens ?? 4_096
    return { tokens: input + output, costNanoUsd: 10 * input + 40 * output }
  }
  const capFor = (maxTokens: number, more: Partial<ModelRequest> = {}) =>
    fittedRequest({ ...request, ...more }, estimateOf, maxTokens).parameters.maxOutputTokens

  it.each([
    ['all of it', 50_000, undefined],
    ['exactly as much as it may take', 5_096, undefined],
    ['a little less', 5_095, 4_095],
    ['--daily-tokens 3000', 3_000, 2_000],
    ['the least', 1_256, 256],
    ['less than the least, for the ledger to refuse', 1_255, 256],
    ['nothing', 0, 256],
  ])('with %s left', (_name, maxTokens, cap) => {
    expect(capFor(maxTokens)).toBe(cap)
  })

  it('goes by the cost, too, and never above what was asked for', () => {
    expect(capFor(unlimited, { maxCostNanoUsd: 10_000 + 40 * 700 })).toBe(700)
    expect(capFor(1_100, { parameters: { maxOutputTokens: 77 } })).toBe(77)
    expect(capFor(1_010, { parameters: { maxOutputTokens: 77 } })).toBe(77)
  })
})
