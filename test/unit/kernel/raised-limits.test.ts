import { describe, expect, it, vi } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import type { Journal, TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { Parked, PlatformLease } from '#runtime/kernel/types/kernel.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { narrower, type Limits } from '#contracts/lease.ts'
import type { GateParts } from '#runtime/kernel/types/policy.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import type { KernelParts } from '../../../src/runtime/kernel/segment.ts'
import { pauseAt } from '../../../src/runtime/session/runs/limit-pause.ts'
import { limitsInForce } from '../../../src/runtime/session/runs/limits.ts'
import {
  agentSpec,
  createFakeClock,
  createFakeModel,
  createFakeSources,
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
import { createRandom } from '../../fakes/random.ts'

/** Every lease that a root gave beyond the limit in force at that moment. */
const books = vi.hoisted(() => ({ broken: [] as string[] }))

vi.mock('../../../src/runtime/kernel/segment.ts', async (importOriginal) => {
  const real = await importOriginal<typeof import('../../../src/runtime/kernel/segment.ts')>()
  const dimensions = [
    ['tokens', 'maxTokens'],
    ['turns', 'maxTurns'],
    ['toolCalls', 'maxToolCalls'],
    ['platformNanoUsd', 'maxPlatformNanoUsd'],
  ] as const
  const openSegment: typeof real.openSegment = (...args) => {
    const segment = real.openSegment(...args)
    const { ledger } = segment
    const reserve: typeof ledger.reserve = (amount) => {
      const reservation = ledger.reserve(amount)
      for (const [key, limit] of dimensions) {
        const sum = (ledger.settled()[key] ?? 0) + (ledger.reserved()[key] ?? 0)
        if (reservation.ok && (amount[key] ?? 0) > 0 && sum > (ledger.limits[limit] ?? Infinity))
          books.broken.push(`${key}: ${sum} of ${ledger.limits[limit]}`)
      }
      return reservation
    }
    return { ...segment, ledger: { ...ledger, reserve } }
  }
  return { ...real, openSegment }
})

type Changed = { limits: Partial<Limits> }

interface SetUpOptions {
  readonly platform?: PlatformLease
  readonly parts?: Partial<KernelParts>
}

/** One run over several segments, each a fresh kernel over the same journal: nothing else survives. */
function setUp(
  entries: readonly ToolEntry[],
  script: Script,
  given: Partial<Limits>,
  estimate = { tokens: 150, costNanoUsd: 0 },
  { platform, parts = {} }: SetUpOptions = {},
) {
  const journal = createMemoryJournal()
  const model = createFakeModel(script, estimate)
  let limits = given
  let seq = 0
  const segment = (mayRaise = true, lostCalls = 0): Promise<AgentResult | Parked> => {
    const spec = agentSpec(limits)
    return createKernel(createKernelParts(model, parts)).run(
      runInput({ agent: spec, toolset: toolsetOf(entries), lostCalls }),
      runPorts({
        journal,
        nextSeq: () => (seq += 1),
        mayRaise,
        ...(platform && { platform }),
        atLimit: (ending, turns) => {
          const pause = pauseAt(ending, turns, { limits: spec.limits, changes: 0, nowMs: 0 })
          const { message } = pause.reached
          return mayRaise ? { message, pause } : { message }
        },
      }),
    )
  }
  return { journal, model, segment, raise: (to: Partial<Limits>) => (limits = to) }
}

const threeCalls: Script = (_request, index) =>
  index === 0
    ? { calls: ['a', 'b', 'c'].map((name) => ({ name, input: { name } })) }
    : { text: 'done' }

describe('a call that a limit holds back', () => {
  const setUpThree = (limits: Partial<Limits>, isReadOnly = true) => {
    const ran: string[] = []
    const entries = ['a', 'b', 'c'].map((name) =>
      toolEntry(name, async () => (ran.push(name), says(name)), { isReadOnly }),
    )
    return { ran, ...setUp(entries, threeCalls, limits) }
  }

  it.each([true, false])(
    'E1, I15: is made once the limit is raised, and each of its turn once (read-only: %s)',
    async (isReadOnly) => {
      const run = setUpThree({ maxToolCalls: 1 }, isReadOnly)
      const parked = await run.segment()
      expect(parked.state).toBe('parked')
      expect(run.ran).toEqual(['a'])
      const { pauses } = parked as Parked
      expect(pauses).toMatchObject([{ kind: 'budget', reached: { spent: 1, needed: 3 } }])
      run.raise({ maxToolCalls: 3 })
      const result = (await run.segment()) as AgentResult
      expect(run.ran).toEqual(['a', 'b', 'c'])
      expect(result).toMatchObject({ state: 'completed', usage: { toolCalls: 3, turns: 2 } })
      const whole = setUpThree({ maxToolCalls: 3 }, isReadOnly)
      expect({ ...(await whole.segment()), finishedAtMs: 0 }).toEqual({
        ...result,
        finishedAtMs: 0,
      })
      const told = run.journal.load().flatMap(({ events }) => events.map(({ type }) => type))
      expect(told.filter((type) => type === 'tool_started')).toHaveLength(3)
      expect(told.filter((type) => type === 'tool_finished')).toHaveLength(3)
      expect(told.filter((type) => type === 'budget_reached')).toHaveLength(1)
    },
  )

  it('E1: is refused where the limit stays, and the run ends with what it has', async () => {
    const run = setUpThree({ maxToolCalls: 1 })
    await run.segment()
    const result = (await run.segment(false)) as AgentResult
    expect(result).toMatchObject({ state: 'stopped', error: { code: 'lease_tool_calls' } })
    expect(result.error!.message).toContain('at least 3')
    expect(result.actions.map(({ ok }) => ok)).toEqual([true, false, false])
    expect(run.ran).toEqual(['a'])
  })
})

it('E1: a sub-agent that the end of the time kept from beginning has spent nothing', async () => {
  const clock = createFakeClock()
  const began: string[] = []
  const entries = [
    toolEntry('child', async () => (began.push('child'), says('done')), {
      spends: { ...defaultAgentLimits, maxTokens: 400 },
    }),
  ]
  const gates: GateParts = {
    ...openGates,
    hooks: {
      ...openGates.hooks,
      // The time ends while it is looked at.
      async before() {
        await clock.advance(2_000)
        return { veto: false }
      },
    },
  }
  const run = setUp(entries, [{ calls: [{ name: 'child' }] }], { maxTimeMs: 1_000 }, undefined, {
    parts: { clock, gates },
  })
  expect((await run.segment()).state).toBe('parked')
  const [held] = run.journal.load().at(-1)!.calls
  expect(held).toMatchObject({ pause: { kind: 'budget' } })
  expect(held!.reserved).toBeUndefined()
  const result = (await run.segment(false)) as AgentResult
  expect(began).toEqual([])
  expect(result).toMatchObject({
    state: 'stopped',
    error: { code: 'lease_time' },
    usage: { tokens: 110, toolCalls: 0, children: 0 },
  })
})

it('E1, I15: a call that was still being looked at when the time was up is made once there is more', async () => {
  const clock = createFakeClock()
  const ran: string[] = []
  let looks = 0
  const gates: GateParts = {
    ...openGates,
    hooks: {
      ...openGates.hooks,
      async before({ signal }) {
        looks += 1
        if (looks === 1) await clock.advance(2_000)
        // As a plugin's is: broken off with its run.
        return signal.aborted ? { veto: true, message: 'The check failed.' } : { veto: false }
      },
    },
  }
  const run = setUp(
    [toolEntry('a', async () => (ran.push('a'), says('a')))],
    [{ calls: [{ name: 'a' }] }, { text: 'done' }],
    { maxTimeMs: 1_000 },
    undefined,
    { parts: { clock, gates } },
  )
  const { pauses } = (await run.segment()) as Parked
  expect(pauses).toMatchObject([{ reached: { code: 'lease_time' } }])
  run.raise({ maxTimeMs: 60_000 })
  expect(await run.segment()).toMatchObject({ state: 'completed', actions: [{ ok: true }] })
  expect(ran).toEqual(['a'])
})

it('E1, I15: cost: is parked before the request, and goes on once the limit is raised', async () => {
  const run = setUp(
    [],
    [{ text: 'done' }],
    { maxCostNanoUsd: 999 },
    { tokens: 150, costNanoUsd: 1_000 },
  )
  const { pauses } = (await run.segment()) as Parked
  expect(pauses[0]!.reached).toMatchObject({ code: 'lease_cost', spent: 0, needed: 1_000 })
  expect(run.model.requests).toHaveLength(0)
  run.raise({ maxCostNanoUsd: 1_000 })
  expect((await run.segment()).state).toBe('completed')
})

it('E1, I15: the platform: a turn is reserved before it begins, is parked without it, and begins once the limit is raised', async () => {
  let spent = 0
  const run = setUp(
    [toolEntry('a', async () => ((spent += 90), says('a')))],
    (_request, index) => (index === 0 ? { calls: [{ name: 'a' }] } : { text: 'done' }),
    { maxPlatformNanoUsd: 189 },
    undefined,
    { platform: { turnNanoUsd: () => 100, beyond: () => (spent === 0 ? 0 : spent - 100) } },
  )
  const { pauses } = (await run.segment()) as Parked
  expect(pauses[0]!.reached).toMatchObject({ code: 'lease_platform', allowed: 189, needed: 190 })
  expect(run.model.requests).toHaveLength(1)
  const told = run.journal.load().flatMap(({ events }) => events)
  expect(told.filter(({ type }) => type === 'lease_refused')).toMatchObject([
    { data: { code: 'lease_platform', asked: 100, left: 99 } },
  ])
})

it('E1: a turn that has no plan yet counts once, however often its run was parked before it', async () => {
  const run = setUp([], [{ text: 'done' }], { maxTokens: 1 })
  for (let index = 0; index < 3; index += 1) expect((await run.segment()).state).toBe('parked')
  run.raise({ maxTokens: 10_000, maxTurns: 1 })
  const result = (await run.segment()) as AgentResult
  expect(result).toMatchObject({ state: 'completed', usage: { turns: 1, modelCalls: 1 } })
  expect(run.model.requests).toHaveLength(1)
})

it('E1, I3: a request that a crash cut is charged, also where another one was before its turn was parked', async () => {
  const run = setUp([], [{ text: 'done' }], { maxTokens: 200 })
  expect((await run.segment(true, 1)).state).toBe('parked')
  run.raise({ maxTokens: 10_000 })
  expect((await run.segment(true, 1)).state).toBe('completed')
  const told = run.journal.load().flatMap(({ events }) => events)
  const requests = told.flatMap((event) =>
    event.type === 'model_failed' || event.type === 'model_called' ? [event.data.request] : [],
  )
  expect(requests).toEqual([1, 2, 3])
  const resumed = told.flatMap((event) =>
    event.type === 'run_resumed' ? [event.data.lostCalls] : [],
  )
  expect(resumed).toEqual([1, 1])
})

it('E1: a turn that is raised after it was parked has lost no request since', async () => {
  const run = setUp([], [{ text: 'done' }], { maxTokens: 200 })
  await run.segment(true, 1)
  run.raise({ maxTokens: 10_000 })
  expect(await run.segment()).toMatchObject({ state: 'completed', usage: { tokens: 260 } })
  const told = run.journal.load().flatMap(({ events }) => events)
  expect(told.filter(({ type }) => type === 'run_resumed').map(({ data }) => data)).toMatchObject([
    { lostCalls: 1 },
    { lostCalls: 0 },
  ])
})

/** The actual use of each limit at a moment, counted outside of all bookkeeping. */
type Taken = Record<'maxTurns' | 'maxToolCalls' | 'maxTokens' | 'maxPlatformNanoUsd', number>

/** The platform's cost that is reserved for a turn, and the most that a turn takes. */
const turnNanoUsd = 100

/** Counts what the platform does in one segment, as a session would, and writes it with its turns. */
function createPlatform(journal: Journal) {
  const own = new Map<number, number>()
  let spent = 0
  let leased = 0
  let turn = 0
  const billed = (record: TurnRecord): TurnRecord => {
    const platformNanoUsd = (record.usage.platformNanoUsd ?? 0) + (own.get(record.turn) ?? 0)
    return { ...record, usage: { ...record.usage, platformNanoUsd } }
  }
  return {
    spent: () => spent,
    billed: (turns: readonly TurnRecord[]) => turns.map(billed),
    did(amount: number) {
      spent += amount
      own.set(turn, (own.get(turn) ?? 0) + amount)
    },
    port: {
      turnNanoUsd: () => turnNanoUsd,
      beyond() {
        turn = journal.load().filter(({ isDone }) => isDone).length + 1
        const more = spent - leased
        leased = spent + turnNanoUsd
        return more
      },
    },
    journal: {
      ...journal,
      write: (record: TurnRecord) => journal.write(billed(record)),
    },
  }
}

/** Grows a random tree whose root's limits are raised and lowered at random moments, and is raised whenever it is parked. */
async function growTree(seed: number) {
  const random = createRandom(seed)
  const taken: Taken = { maxTurns: 0, maxToolCalls: 0, maxTokens: 0, maxPlatformNanoUsd: 0 }
  const sources = createFakeSources({
    nowMs: () => 0,
    sleep: (_ms, signal) =>
      new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
  })
  const given: Limits = {
    ...defaultAgentLimits,
    maxTokens: random.int(150, 1_200),
    maxTurns: random.int(1, 5),
    maxToolCalls: random.int(0, 8),
    maxPlatformNanoUsd: random.int(100, 1_500),
    maxChildren: 40,
    maxDepth: 2,
  }
  const changed: Changed = { limits: {} }
  let raises = 0
  let parks = 0
  const names = ['maxTurns', 'maxToolCalls', 'maxTokens', 'maxPlatformNanoUsd'] as const
  const change = (factor: number) => {
    const name = names[random.int(0, 3)]!
    const now = Math.min(given[name] ?? Infinity, changed.limits[name] ?? Infinity)
    changed.limits = { ...changed.limits, [name]: Math.floor(now * factor) }
  }
  const least = { order: 0 }
  let root = given

  async function runAgent(
    limits: Limits,
    depth: number,
    signal: AbortSignal,
    journal = createMemoryJournal(),
  ): Promise<AgentResult | Parked> {
    const inForce = depth === 0 ? limitsInForce(limits, { row: { changed } } as never) : limits
    const platform = createPlatform(journal)
    const take = (name: keyof Taken, amount: number) => void (taken[name] += amount)
    const model = createFakeModel(() => {
      take('maxTurns', 1)
      const nanoUsd = random.int(20, turnNanoUsd)
      take('maxPlatformNanoUsd', nanoUsd)
      platform.did(nanoUsd)
      const inputTokens = random.int(1, 100)
      const outputTokens = random.int(0, 50)
      take('maxTokens', inputTokens + outputTokens)
      if (random.chance(0.15)) change(random.chance(0.5) ? 0.6 : 2)
      if (random.chance(depth === 0 ? 0.5 : 0.8)) return { text: 'done', inputTokens, outputTokens }
      const calls = Array.from({ length: random.int(1, 2) }, () => ({
        name: depth < 2 && random.chance(0.25) ? 'child' : 'plain',
        input: { order: (least.order += 1) },
      }))
      return { calls, inputTokens, outputTokens }
    })
    const tools = [
      toolEntry('plain', async () => {
        take('maxToolCalls', 1)
        if (random.chance(0.15)) change(random.chance(0.5) ? 0.6 : 2)
        return says('ok')
      }),
      toolEntry(
        'child',
        async (_input, context) => {
          take('maxToolCalls', 1)
          const result = await runAgent(
            narrower(defaultAgentLimits, context.lease),
            depth + 1,
            context.signal,
          )
          if (result.state === 'parked') throw new Error('a child was parked')
          const { usage } = result // with what the platform did for it, as it is stored
          return result.success
            ? { ok: true, output: result.result, usage }
            : { ok: false, error: { code: 'tool_failed', message: result.state }, usage }
        },
        { spends: defaultAgentLimits, callsTools: true },
      ),
    ]
    let seq = 0
    const outcome = await createKernel(createKernelParts(model, sources)).run(
      runInput({ agent: agentSpec({}, { limits: inForce }), toolset: toolsetOf(tools), depth }),
      runPorts({
        journal: platform.journal,
        platform: platform.port,
        signal,
        nextSeq: () => (seq += 1),
        mayRaise: depth === 0,
        atLimit: (ending, turns) => {
          const options = { limits: inForce, changes: 0, nowMs: 0, turnNanoUsd }
          const pause = pauseAt(ending, platform.billed(turns), options)
          const { message } = pause.reached
          return depth === 0 ? { message, pause } : { message }
        },
      }),
    )
    if (outcome.state === 'parked') return outcome
    const platformNanoUsd = (outcome.usage.platformNanoUsd ?? 0) + platform.spent()
    return { ...outcome, usage: { ...outcome.usage, platformNanoUsd } }
  }

  const journal = createMemoryJournal()
  const { signal } = new AbortController()
  for (;;) {
    const outcome = await runAgent(root, 0, signal, journal)
    if (outcome.state !== 'parked') return { outcome, parks, taken }
    parks += 1
    if (raises++ > 12) return { outcome: undefined, parks, taken }
    // The raised limits are what the next segment begins with.
    const { limit, needed } = outcome.pauses[0]!.reached!
    root = { ...root, ...changed.limits, [limit!]: needed! + random.int(0, 200) }
    changed.limits = { ...changed.limits, [limit!]: root[limit!] }
  }
}

it('N6, E1: random trees with limits raised and lowered take nothing beyond the limit in force, over 200 seeds', async () => {
  let parked = 0
  let completed = 0
  for (let seed = 1; seed <= 200; seed += 1) {
    const { outcome, parks, taken } = await growTree(seed)
    expect(books.broken, `seed ${seed}`).toEqual([])
    parked += parks
    if (!outcome) continue
    expect(outcome.state, `seed ${seed}`).toBe('completed')
    completed += 1
    // What the books say is never less than what was really done.
    expect((outcome as AgentResult).usage.tokens).toBeGreaterThanOrEqual(taken.maxTokens)
    expect((outcome as AgentResult).usage.platformNanoUsd).toBeGreaterThanOrEqual(
      taken.maxPlatformNanoUsd,
    )
    expect((outcome as AgentResult).usage.toolCalls).toBeGreaterThanOrEqual(taken.maxToolCalls)
  }
  expect(parked).toBeGreaterThan(200)
  expect(completed).toBe(200)
})
