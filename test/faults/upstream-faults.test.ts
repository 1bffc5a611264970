import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { ModelProvider } from '#contracts/model.ts'
import { createKernel } from '../../src/runtime/kernel/run.ts'
import {
  agentSpec,
  createFakeModel,
  createKernelParts,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
} from '../fakes/kernel.ts'
import type { Fault } from './upstream-faults.fault.ts'
import { faults } from './upstream-faults.table.ts'
import { deadlineMs, play, watchLedgers, type Outcome } from './upstream-faults.world.ts'
import { calls, call, fine, noAnswer, raw, status, usage, chunk } from './upstream-faults.wire.ts'
import { dataOf } from '../fakes/events.ts'

// docs/reliability.md F12, F13, F14 and docs/security.md G6: each fault is of the class it is labelled with, nothing
// goes on past its deadline and a second, and the books agree.

let ledgers: ReturnType<typeof watchLedgers>
beforeEach(() => {
  ledgers = watchLedgers()
})
afterEach(() => {
  vi.restoreAllMocks()
})

const ofType = ({ events }: Outcome, type: string) =>
  events.filter((event) => event.type === type).map(dataOf)
const sum = (values: readonly unknown[]): number =>
  values.reduce<number>((total, value) => total + Number(value), 0)

/** Checks the rules that hold for every fault. */
function expectConserved(outcome: Outcome): void {
  const { result, parent, requests } = outcome
  const failed = ofType(outcome, 'model_failed')
  const called = ofType(outcome, 'model_called')
  expect(ledgers.steps()).toBeGreaterThan(0)
  ledgers.expectNothingReserved()
  // Every request is on the record once, and the books are what the record says.
  expect(failed.length + called.length).toBe(requests)
  expect(result.usage.modelCalls).toBe(requests)
  expect(result.usage.tokens).toBe(
    sum(failed.map(({ bookedTokens }) => bookedTokens)) +
      sum(
        called.map(({ inputTokens, outputTokens }) => Number(inputTokens) + Number(outputTokens)),
      ),
  )
  expect(result.usage.tokens).toBeLessThanOrEqual(defaultAgentLimits.maxTokens)
  expect(ofType(outcome, 'run_finished')).toHaveLength(1)
  if (!parent) return
  expect(parent).toMatchObject({ state: 'completed', result: 'I went on.' })
  expect(parent.usage.tokens).toBe(result.usage.tokens + 220)
}

function expectAsLabelled(fault: Fault, outcome: Outcome): void {
  const { result, requests, elapsedMs, noted, answers, seen } = outcome
  const failed = ofType(outcome, 'model_failed')
  const lost = failed.filter(({ bookedTokens }) => bookedTokens !== 0)
  expect(result.state).toBe(fault.code ? 'failed' : 'completed')
  expect(result.error?.code).toBe(fault.code)
  if (fault.code) expect(failed.at(-1)?.['code']).toBe(fault.code)
  expect(result.result).toBe(fault.code ? '' : (fault.text ?? 'all well'))
  expect(requests).toBe(fault.requests)
  expect(lost).toHaveLength(fault.lost ?? 0)
  // Booked in full: the output cap and the input that was sent.
  for (const { bookedTokens } of lost) expect(bookedTokens).toBeGreaterThan(4_096)
  if (fault.counted !== undefined) expect(result.usage.tokens).toBe(fault.counted)
  expect(elapsedMs).toBe(fault.elapsedMs ?? 0)
  expect(elapsedMs).toBeLessThanOrEqual(deadlineMs)
  expect(noted).toEqual(fault.noted ?? [])
  expect(answers.flatMap((answer) => /"code":"(\w+)"/.exec(answer)?.[1] ?? [])).toEqual(
    fault.told ?? [],
  )
  if (!fault.code) return
  // What a reader saw of a reply that failed is marked as such: the record says how much of it there was.
  expect(seen).toBe(fault.partial ?? '')
  expect(failed.at(-1)?.['partialChars']).toBe(fault.partial?.length)
}

describe.each(['agent', 'sub-agent'] as const)(
  'G6: an upstream fault of the model of an %s',
  (by) => {
    describe.each(Object.entries(faults))('%s', (_group, table) => {
      it.each(table.map((fault) => [fault.name, fault] as const))('%s', async (_name, fault) => {
        const { answers, isUnwatched } = fault
        const outcome = await play({ answers, by, isWatched: !isUnwatched })
        expectAsLabelled(fault, outcome)
        expectConserved(outcome)
      })
    })
  },
)

it('G6: has at least 66 kinds of faults, each once', () => {
  const names = Object.values(faults).flatMap((table) => table.map(({ name }) => name))
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThanOrEqual(66)
})

describe('F12: a request that may have been billed', () => {
  it('is not sent again when the lease does not allow another', async () => {
    const outcome = await play({
      answers: [noAnswer, fine],
      by: 'agent',
      limits: { maxTokens: 6_000 },
    })
    expect(outcome.requests).toBe(1)
    expect(outcome.result).toMatchObject({ state: 'failed', error: { code: 'model_network' } })
    expect(ofType(outcome, 'lease_refused')).toMatchObject([{ code: 'lease_tokens' }])
    expect(ofType(outcome, 'model_failed')).toHaveLength(1)
    expectConserved(outcome)
  })

  it('is sent again after a clean refusal, which takes nothing from the lease', async () => {
    const outcome = await play({
      answers: [status(503), status(429), fine],
      by: 'agent',
      limits: { maxTokens: 6_000 },
    })
    expect(outcome.result).toMatchObject({ state: 'completed', usage: { tokens: 110 } })
  })

  it('costs money too, and no more than is there', async () => {
    const outcome = await play({
      answers: [noAnswer, noAnswer, fine],
      by: 'agent',
      // Two calls of some 8,200 micro-dollars fit, a third does not.
      limits: { maxCostNanoUsd: 20_000_000 },
    })
    expect(outcome.requests).toBe(2)
    expect(ofType(outcome, 'lease_refused')).toMatchObject([{ code: 'lease_cost' }])
    expect(outcome.result.usage.costNanoUsd).toBeGreaterThan(16_000_000)
    expectConserved(outcome)
  })

  it('leaves nothing for the next turn that it may have used up', async () => {
    const outcome = await play({
      answers: [noAnswer, calls(call('{"text":"a"}')), fine],
      by: 'agent',
      limits: { maxTokens: 8_350 },
    })
    expect(outcome.result).toMatchObject({ state: 'stopped', error: { code: 'lease_tokens' } })
    expect(outcome.noted).toEqual([{ text: 'a' }])
    expect(outcome.requests).toBe(2)
    expectConserved(outcome)
  })
})

it('T19: a bill above the reservation is booked, and the next call refused', async () => {
  vi.restoreAllMocks()
  const bill = { prompt_tokens: 60_000, completion_tokens: 10 }
  const outcome = await play({
    answers: [raw(chunk({ tool_calls: [call('{}')] }, 'tool_calls'), usage(bill)), fine],
    by: 'agent',
  })
  expect(ofType(outcome, 'lease_overdrawn')).toMatchObject([{ tokens: 60_010 }])
  expect(outcome.result).toMatchObject({ state: 'stopped', usage: { tokens: 60_010 } })
  expect(outcome.requests).toBe(1)
})

it.each([
  ['not a number', Number.NaN],
  ['negative', -1_000],
  ['endless', Number.POSITIVE_INFINITY],
  ['a fraction', 0.5],
])('T19: a provider whose count is %s is booked the whole reservation', async (_name, count) => {
  const tool = toolEntry('go', async () => says('gone'))
  const outcome = await createKernel(
    createKernelParts(createFakeModel(() => ({ calls: [{ name: 'go' }], inputTokens: count }))),
  ).run(
    runInput({ toolset: toolsetOf([tool]), agent: agentSpec({ maxTokens: 1_000 }) }),
    runPorts(),
  )
  // 150 tokens a call: six fit, a seventh does not.
  expect(outcome).toMatchObject({ state: 'stopped', usage: { tokens: 900, modelCalls: 6 } })
  ledgers.expectNothingReserved()
})

it('F12: a provider that sends again without leave gets its reply refused', async () => {
  const model = createFakeModel([{ text: 'for free' }])
  const greedy: ModelProvider = {
    ...model,
    generate(request, options) {
      options.onSent()
      if (!options.mayRetry(new IsolaError('model_network', 'It broke.')))
        return model.generate(request, options)
      throw new Error('there was budget')
    },
  }
  const outcome = await createKernel(createKernelParts(greedy)).run(
    runInput({ agent: agentSpec({ maxTokens: 200 }) }),
    runPorts(),
  )
  expect(outcome).toMatchObject({ state: 'failed', result: '', usage: { tokens: 150 } })
  ledgers.expectNothingReserved()
})
