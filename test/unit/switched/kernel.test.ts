import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import type { PauseAnswer } from '#runtime/kernel/types/pause.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import { zeroUsage } from '#contracts/lease.ts'
import type { ModelProvider } from '#contracts/model.ts'
import {
  agentSpec,
  createEndingKernel,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  openGates,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
  type Script,
} from '../../fakes/kernel.ts'

const once =
  (...calls: readonly { readonly name: string; readonly input?: object }[]): Script =>
  (_request, index) =>
    index === 0 ? { calls: calls.map(({ name }) => ({ name, input: { a: 1 } })) } : { text: 'done' }
const run = (model: ModelProvider, ...tools: readonly ReturnType<typeof toolEntry>[]) =>
  createEndingKernel(createKernelParts(model)).run(
    runInput({ toolset: toolsetOf(tools), ancestry: ['above'] }),
    runPorts(),
  )

describe('a call', () => {
  it('F5: that is made again after a crash has the key it had, and no other call has it', async () => {
    const keys: string[] = []
    const never = new Promise<never>(() => {})
    const mail = toolEntry(
      'mail',
      (_input, { idempotencyKey }) => (keys.push(idempotencyKey), keys.length < 3 ? never : done),
      { isReadOnly: false, isIdempotent: true, spends: { ...agentSpec().limits, maxTokens: 100 } },
    )
    const done = Promise.resolve(says('sent'))
    const journal = createMemoryJournal()
    const life = () =>
      createEndingKernel(
        createKernelParts(createFakeModel(once({ name: 'mail' }, { name: 'mail' }))),
      ).run(runInput({ toolset: toolsetOf([mail]) }), runPorts({ journal }))
    void life() // never ends: the object dies here
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(new Set(keys).size).toBe(2)
    const before = keys.splice(0)
    keys.push('', '') // from here on the tool answers
    void life()
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(keys.slice(2)).toEqual(before)
  })

  it('C8: knows all agents above it, its own among them', async () => {
    let seen: readonly string[] = []
    const look = toolEntry('look', async (_input, { ancestry }) => ((seen = ancestry), says('')))
    await run(createFakeModel(once({ name: 'look' })), look)
    expect(seen).toEqual(['above', 'tester'])
  })

  it('Y13: may go one level less deep than its caller', async () => {
    let depth = Number.NaN
    const spends = { ...agentSpec().limits, maxTokens: 100 }
    const child = toolEntry(
      'child',
      async (_input, { lease }) => ((depth = lease.maxDepth), says('')),
      { spends },
    )
    await run(createFakeModel(once({ name: 'child' })), child)
    expect(depth).toBe(agentSpec().limits.maxDepth - 1)
  })

  it('N6: that starts a child is counted against the width of the tree', async () => {
    let ran = 0
    const spends = { ...agentSpec().limits, maxTokens: 100, maxChildren: 0 }
    const child = toolEntry('child', async () => ((ran += 1), says('')), { spends })
    const calls = ['child', 'child', 'child'].map((name) => ({ name }))
    const result = await createEndingKernel(createKernelParts(createFakeModel(once(...calls)))).run(
      runInput({ toolset: toolsetOf([child]), agent: agentSpec({ maxChildren: 2 }) }),
      runPorts(),
    )
    expect(result).toMatchObject({ state: 'stopped', error: { code: 'lease_children' } })
    expect(ran).toBe(2)
  })

  it('E8: ends at once when its run is cancelled, and its tool is told why', async () => {
    const controller = new AbortController()
    let reason: unknown
    const slow = toolEntry('slow', (_input, { signal }) => {
      signal.addEventListener('abort', () => (reason = signal.reason))
      queueMicrotask(() => controller.abort(new Error('enough')))
      return new Promise((resolve) => setTimeout(() => resolve(says('late')), 50))
    })
    const result = await createEndingKernel(
      createKernelParts(createFakeModel(once({ name: 'slow' }))),
    ).run(runInput({ toolset: toolsetOf([slow]) }), runPorts({ signal: controller.signal }))
    expect(result.state).toBe('cancelled')
    expect(reason).toMatchObject({ message: 'enough' })
  })

  it('I18: whose result a hook cannot look at is held back', async () => {
    const model = createFakeModel(once({ name: 'look' }))
    const after = () => Promise.reject(new Error('broken'))
    const gates = { ...openGates, hooks: { ...openGates.hooks, after } }
    await createEndingKernel(createKernelParts(model, { gates })).run(
      runInput({ toolset: toolsetOf([toolEntry('look', async () => says('SECRET'))]) }),
      runPorts(),
    )
    expect(JSON.stringify(model.requests[1])).not.toContain('SECRET')
  })
})

describe('a call that may spend', () => {
  const never = new Promise<never>(() => {})
  const spending = (name: string, execute: Parameters<typeof toolEntry>[1]) =>
    toolEntry(name, execute, {
      isReadOnly: false,
      isIdempotent: true,
      spends: agentSpec().limits,
    })

  it('E1: is on record with its share before it begins, whether or not it may be repeated', async () => {
    const journal = createMemoryJournal()
    let before: unknown
    const child = spending('child', async () => ((before = journal.rows.get(1)), says('')))
    await createEndingKernel(createKernelParts(createFakeModel(once({ name: 'child' })))).run(
      runInput({ toolset: toolsetOf([child]) }),
      runPorts({ journal }),
    )
    expect(before).toMatchObject({ calls: [{ tool: 'child' }], share: { maxDepth: 3 } })
  })

  it('E1: has the share it had when it is made again, whatever its siblings spent meanwhile', async () => {
    const shares: number[] = []
    const usage = { ...zeroUsage, tokens: 9_000 }
    const cut = spending(
      'cut',
      (_input, { lease }) => (shares.push(lease.maxTokens), shares.length < 2 ? never : done),
    )
    const done = Promise.resolve(says(''))
    const quick = spending('quick', async () => ({ ...says(''), usage }))
    const journal = createMemoryJournal()
    const model = createFakeModel(once({ name: 'quick' }, { name: 'cut' }))
    const life = () =>
      createEndingKernel(createKernelParts(model)).run(
        runInput({ toolset: toolsetOf([cut, quick]) }),
        runPorts({ journal }),
      )
    void life() // never ends: the object dies here
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(journal.rows.get(1)?.usage.tokens).toBe(110 + 9_000)
    void life()
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(shares).toHaveLength(2)
    expect(shares[1]).toBe(shares[0])
  })
})

describe('an approval', () => {
  it('T14, E6: holds for the tool as it was when it was given, and no longer', async () => {
    let ran = 0
    const journal = createMemoryJournal()
    const mail = (definitionHash: string) =>
      toolEntry('mail', async () => ((ran += 1), says('sent')), {
        needsApproval: true,
        definitionHash,
      })
    const model = createFakeModel(once({ name: 'mail' }))
    const life = (definitionHash: string, answer?: PauseAnswer) =>
      createKernel(createKernelParts(model)).run(
        runInput({ options: { pauses: 'park' }, toolset: toolsetOf([mail(definitionHash)]) }),
        runPorts({ journal, answerTo: () => answer }),
      )
    const parked = await life('shown')
    if (parked.state !== 'parked') throw new Error('not parked')
    const { argsHash, definitionHash } = parked.pauses[0]!
    const answer = { kind: 'approved', argsHash, definitionHash } as const
    expect((await life('changed since', answer)).state).toBe('parked')
    expect(ran).toBe(0)
  })
})

describe('a run that is resumed', () => {
  const limited = (maxTokens: number, more: object = {}) => {
    const model = createFakeModel([{ text: 'hi' }])
    const running = createEndingKernel(createKernelParts(model)).run(
      runInput({ agent: agentSpec({ maxTokens }), ...more }),
      runPorts({
        journal: createMemoryJournal([
          {
            turn: 1,
            steps: [{ type: 'message', message: 'so far' }],
            calls: [],
            modelCalls: [],
            events: [],
            usage: { ...zeroUsage, tokens: 200, turns: 1 },
            isDone: true,
          },
        ]),
      }),
    )
    return running.then(({ state }) => ({ state, requests: model.requests.length }))
  }

  it('E1: may spend what its earlier turns have left, and no more', async () => {
    expect(await limited(349)).toEqual({ state: 'stopped', requests: 0 })
    expect(await limited(350)).toEqual({ state: 'completed', requests: 1 })
  })

  it('E1: may spend no more than is left beside the model calls that a crash may have cut', async () => {
    expect(await limited(649, { lostCalls: 2 })).toEqual({ state: 'stopped', requests: 0 })
    expect(await limited(650, { lostCalls: 2 })).toEqual({ state: 'completed', requests: 1 })
  })
})

describe('a model call', () => {
  /** A model whose first attempt meets a failure, before or after its reply has begun. */
  const failing = (
    hasBegun: boolean,
    retries = 0,
  ): ModelProvider & { readonly sent: () => number } => {
    const fake = createFakeModel([])
    let sent = 0
    return {
      sent: () => sent,
      ...fake,
      async generate(_request, { onSent, onBegun, mayRetry }) {
        const failure = new IsolaError('model_unavailable', 'It is down.', { transient: true })
        for (let attempt = 0; attempt <= retries; attempt += 1) {
          sent += 1
          onSent()
          if (hasBegun) onBegun()
          if (attempt < retries && !mayRetry(failure)) break
        }
        throw failure
      },
    }
  }

  it('F12, E1: that breaks in the middle of its reply is booked in full, whatever its code', async () => {
    expect((await run(failing(true))).usage).toMatchObject({ tokens: 150, modelCalls: 1 })
    expect((await run(failing(false))).usage).toMatchObject({ tokens: 0, modelCalls: 1 })
  })

  it('F12, E1: is reserved anew before each further attempt, and not made if that is refused', async () => {
    const limited = async (maxTokens: number) => {
      const model = failing(true, 3)
      const { usage } = await createEndingKernel(createKernelParts(model)).run(
        runInput({ agent: agentSpec({ maxTokens }) }),
        runPorts(),
      )
      return { sent: model.sent(), tokens: usage.tokens }
    }
    expect(await limited(10_000)).toEqual({ sent: 4, tokens: 4 * 150 })
    expect(await limited(449)).toEqual({ sent: 2, tokens: 2 * 150 })
  })
})
