import { describe, expect, it } from 'vitest'
import type { ModelCallSummary } from '#contracts/agent.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { EventDraft } from '#contracts/event.ts'
import { addUsage, zeroUsage, type Limits } from '#contracts/lease.ts'
import type { ModelCallOptions, ModelReply, ModelRequest, NextModel } from '#contracts/model.ts'
import {
  createGenerate,
  type GenerateOptions,
} from '../../../src/runtime/kernel/leases/generate.ts'
import { createLedger } from '../../../src/runtime/kernel/leases/ledger.ts'
import { createFakeClock } from '../../fakes/kernel.ts'

const estimate = { tokens: 150, costNanoUsd: 900 }
const request: ModelRequest = { model: 'big', messages: [], tools: [], parameters: {} }
const reply: ModelReply = {
  text: 'hello',
  toolCalls: [],
  finishReason: 'stop',
  usage: {
    inputTokens: 100,
    outputTokens: 10,
    costNanoUsd: 500,
    priced: true,
    estimated: false,
  },
  provider: 'vendor',
  model: 'big',
}
const busy = new IsolaError('model_unavailable', 'Busy.')
const broken = new IsolaError('model_network', 'Broken off.')
const small: NextModel = {
  selection: {
    provider: 'other',
    model: 'small',
    substituted: true,
    passedOver: [{ provider: 'vendor', model: 'big', reason: 'model_unavailable' }],
  },
  estimate: { tokens: 80, costNanoUsd: 300 },
}

type Provider = (options: ModelCallOptions, asked: ModelRequest) => ModelReply | Promise<ModelReply>

interface World extends Partial<Omit<GenerateOptions, 'ledger' | 'clock'>> {
  readonly limits?: Partial<Limits>
  readonly substituted?: boolean
}

/** The leased way to a provider that does what it is told. */
function createWorld(provider: Provider, { limits, substituted = false, ...more }: World = {}) {
  const clock = createFakeClock()
  const ledger = createLedger({ ...defaultAgentLimits, maxCostNanoUsd: 10_000, ...limits })
  const events: EventDraft[] = []
  const calls: ModelCallSummary[] = []
  let usage = zeroUsage
  let sent = 0
  const ask = createGenerate({
    models: {
      id: 'vendor',
      select: () => ({ provider: 'vendor', model: 'big', substituted }),
      estimate: () => estimate,
      generate: async (asked, options) => provider(options, asked),
    },
    clock,
    ledger,
    signal: new AbortController().signal,
    emit: (event) => events.push(event),
    onSpent(spent, call) {
      usage = addUsage(usage, spent)
      if (call) calls.push(call)
    },
    about: (count) => ({ turn: 1, request: count }),
    onDelta: () => {},
    isWatched: () => false,
    onSent: () => (sent += 1),
    lostCalls: 0,
    headersOf: () => ({}),
    ...more,
  })
  const told = (type: EventDraft['type']) =>
    events.flatMap((event) => (event.type === type ? [event.data] : []))
  return {
    ask: () => ask(request),
    clock,
    ledger,
    told,
    calls,
    usage: () => usage,
    sent: () => sent,
  }
}

describe('the leased way to a model', () => {
  it('E1: takes requests that a crash may have cut out of the lease, and tells how many there were', async () => {
    const world = createWorld(() => reply, { lostCalls: 2 })
    await world.ask()
    expect(world.ledger.settled()).toMatchObject({
      tokens: 2 * 150 + 110,
      costNanoUsd: 2 * 900 + 500,
    })
    expect(world.usage()).toMatchObject({ tokens: 2 * 150 + 110, modelCalls: 3 })
    expect(world.told('model_failed')).toMatchObject([
      { request: 1, code: 'lost', bookedTokens: 150, bookedCostNanoUsd: 900 },
      { request: 2, code: 'lost', bookedTokens: 150, bookedCostNanoUsd: 900 },
    ])
    expect(world.told('model_called')).toMatchObject([{ request: 3 }])
  })

  it('E1: refuses the next request where what a crash cut has used the lease up', async () => {
    const world = createWorld(() => reply, { lostCalls: 1, limits: { maxTokens: 250 } })
    await expect(world.ask()).rejects.toMatchObject({
      code: 'lease_tokens',
      message: expect.stringContaining('150 asked, 100 left'),
    })
  })

  it('E1: holds the whole reservation while a request is open, and only what was counted after it', async () => {
    const held: number[] = []
    const world = createWorld(() => (held.push(world.ledger.reserved().tokens), reply))
    await world.ask()
    expect([...held, world.ledger.reserved().tokens, world.ledger.settled().tokens]).toEqual([
      150, 0, 110,
    ])
  })

  it('E1: asks for no model that costs more than what is left, or than the request may', async () => {
    const ceilings: (number | undefined)[] = []
    const world = createWorld((_options, { maxCostNanoUsd }) => {
      ceilings.push(maxCostNanoUsd)
      return reply
    })
    await world.ask()
    await world.ask()
    expect(ceilings).toEqual([10_000, 9_500])
  })

  it('acknowledges also a request that ended before it was sent', async () => {
    const world = createWorld(() => {
      throw busy
    })
    await expect(world.ask()).rejects.toThrow(busy)
    expect(world.sent()).toBe(1)
    expect(world.usage()).toEqual(zeroUsage)
  })

  it('E1: takes no second answer of a request that it gave no leave to send again', async () => {
    const world = createWorld(
      (options) => {
        options.onSent()
        options.mayRetry(broken)
        options.onSent()
        options.onBegun()
        options.onDelta('hello')
        return reply
      },
      { limits: { maxTokens: 200 } },
    )
    await expect(world.ask()).rejects.toThrow('sent a request again without leave')
    expect(world.usage()).toMatchObject({ tokens: 150, modelCalls: 1 })
    expect(world.told('model_called')).toEqual([])
  })
})

describe('an attempt that failed', () => {
  const failing = (steps: (options: ModelCallOptions) => void, error: unknown) =>
    createWorld((options) => {
      steps(options)
      throw error
    })

  it.each([
    ['that was not sent costs nothing', () => {}, broken, 0],
    ['that was refused costs nothing', (to: ModelCallOptions) => to.onSent(), busy, 0],
    ['that broke off is booked in full', (to: ModelCallOptions) => to.onSent(), broken, 150],
    [
      'that was refused after it had begun is booked in full',
      (to: ModelCallOptions) => (to.onSent(), to.onBegun()),
      busy,
      150,
    ],
  ] as const)('E1: %s', async (_name, steps, error, tokens) => {
    const world = failing(steps, error)
    await expect(world.ask()).rejects.toThrow(error)
    const costNanoUsd = tokens === 0 ? 0 : 900
    expect(world.ledger.settled()).toMatchObject({ tokens, costNanoUsd })
    expect(world.usage()).toMatchObject({ tokens, costNanoUsd })
    expect(world.told('model_failed')).toMatchObject([
      { bookedTokens: tokens, bookedCostNanoUsd: costNanoUsd },
    ])
  })

  it('N7: has on record how much text had arrived, if any had', async () => {
    const begun = failing((to) => {
      to.onSent()
      to.onDelta('hel')
      to.onDelta('lo')
    }, broken)
    await expect(begun.ask()).rejects.toThrow(broken)
    expect(begun.told('model_failed')).toMatchObject([{ code: 'model_network', partialChars: 5 }])

    const silent = failing((to) => to.onSent(), broken)
    await expect(silent.ask()).rejects.toThrow(broken)
    expect(silent.told('model_failed')[0]).not.toHaveProperty('partialChars')
  })
})

describe('what the record says of a model call', () => {
  it('N7: names the model that was asked for where another name answers', async () => {
    const world = createWorld(() => ({ ...reply, model: 'big-2026' }))
    await world.ask()
    expect(world.told('model_called')).toMatchObject([{ model: 'big-2026', requestedModel: 'big' }])

    const same = createWorld(() => reply)
    await same.ask()
    expect(same.told('model_called')[0]).not.toHaveProperty('requestedModel')
  })

  it('N7: has how long it took, to its first text and to its end', async () => {
    const world = createWorld(async (options) => {
      await world.clock.advance(30)
      options.onDelta('hel')
      await world.clock.advance(40)
      options.onDelta('lo')
      return reply
    })
    await world.ask()
    expect(world.told('model_called')).toMatchObject([{ firstTextMs: 30, durationMs: 70 }])
  })

  it('I30: says which model takes over from which, why, and what is reserved for it', async () => {
    const world = createWorld((options) => {
      options.onSent()
      if (!options.mayRetry(busy, small)) throw busy
      options.onSent()
      return { ...reply, provider: 'other', model: 'small' }
    })
    await world.ask()
    expect(world.told('model_substituted')).toEqual([
      {
        asked: 'big',
        provider: 'other',
        model: 'small',
        passedOver: [{ provider: 'vendor', model: 'big', reason: 'model_unavailable' }],
      },
    ])
    expect(world.told('model_failed')).toMatchObject([{ request: 1, model: 'big' }])
    expect(world.told('model_called')).toMatchObject([{ request: 2, reservedTokens: 80 }])
    expect(world.calls).toMatchObject([{ provider: 'other', model: 'small', inputTokens: 100 }])
  })

  it('I30: says so where another model than the one asked for is taken from the start', async () => {
    const world = createWorld(() => reply, { substituted: true })
    await world.ask()
    expect(world.told('model_substituted')).toEqual([
      { asked: 'big', provider: 'vendor', model: 'big' },
    ])
  })

  it('E1: says nothing of a model that takes over where the lease does not allow it', async () => {
    const world = createWorld(
      (options) => {
        options.onSent()
        if (!options.mayRetry(broken, small)) throw broken
        return reply
      },
      { limits: { maxTokens: 200 } },
    )
    await expect(world.ask()).rejects.toThrow(broken)
    expect(world.told('model_substituted')).toEqual([])
    expect(world.told('lease_refused')).toMatchObject([{ code: 'lease_tokens', left: 50 }])
  })
})
