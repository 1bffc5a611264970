import { describe, expect, it } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Parked } from '#runtime/kernel/types/kernel.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import { pauseAt } from '../../../src/runtime/session/runs/limit-pause.ts'
import { limitsInForce } from '../../../src/runtime/session/runs/limits.ts'
import {
  agentSpec,
  createFakeModel,
  createFakeSources,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
} from '../../fakes/kernel.ts'
import { createRandom } from '../../fakes/random.ts'

type Random = ReturnType<typeof createRandom>
type Outcome = AgentResult | Parked

const names = [
  'maxTokens',
  'maxCostNanoUsd',
  'maxTimeMs',
  'maxTurns',
  'maxToolCalls',
  'maxChildren',
  'maxPlatformNanoUsd',
  'maxDepth',
] as const

/** What a run has at first of the one limit that it has: too little for all it does. */
const firstOf = (name: (typeof names)[number], random: Random): number =>
  ({
    maxTokens: random.int(1, 9_000),
    maxCostNanoUsd: random.int(0, 2_000),
    maxTimeMs: random.int(1, 4_000),
    maxTurns: random.int(1, 3),
    maxToolCalls: random.int(0, 3),
    maxChildren: random.int(0, 2),
    maxPlatformNanoUsd: random.int(0, 400),
    maxDepth: 0,
  })[name]

/** One random run under one limit, over several segments; each segment says how many steps it began. */
function createRun(seed: number, name: (typeof names)[number]) {
  const random = createRandom(seed)
  const journal = createMemoryJournal()
  const turnNanoUsd = random.int(20, 100)
  let now = 1_000
  let steps = 0
  let seq = 0
  let limits: Limits = {
    ...defaultAgentLimits,
    maxTokens: 10_000_000,
    maxTimeMs: 10_000_000,
    maxTurns: 1_000,
    maxToolCalls: 1_000,
    maxChildren: 1_000,
    maxDepth: 4,
    [name]: firstOf(name, random),
  }
  const changed: { limits: Partial<Limits> } = { limits: {} }
  const sources = createFakeSources({
    nowMs: () => now,
    sleep: (_ms, signal) =>
      new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
  })
  const estimate = { tokens: random.int(100, 5_000), costNanoUsd: random.int(0, 900) }
  const model = createFakeModel((_request, index) => {
    steps += 1
    now += random.int(0, 3_000)
    // A limit below the spending, as a person may set it at any moment.
    if (random.chance(0.1)) changed.limits = { [name]: Math.floor(limits[name]! / 3) }
    const usage = { inputTokens: random.int(1, 90), outputTokens: random.int(0, 9) }
    if (index > 6) return { text: 'done', ...usage }
    const calls = Array.from({ length: random.int(1, 4) }, () => ({
      name: random.chance(0.5) ? 'child' : 'plain',
    }))
    return { calls, ...usage }
  }, estimate)
  const act = async () => {
    steps += 1
    now += random.int(0, 500)
  }
  const tools = [
    toolEntry('plain', async () => (await act(), says('ok'))),
    toolEntry(
      'child',
      async (_input, { lease }) => {
        await act()
        const tokens = Math.min(lease.maxTokens, random.int(0, 500))
        const turns = Math.min(lease.maxTurns, 1)
        const usage = { tokens, turns, costNanoUsd: 0, toolCalls: 0, children: 0 }
        const more = { inputTokens: tokens, outputTokens: 0, modelCalls: 1, timeMs: 0 }
        return { ok: true, output: 'done', usage: { ...usage, ...more } }
      },
      { spends: defaultAgentLimits, callsTools: true },
    ),
  ]
  const segment = async (): Promise<{ outcome: Outcome; begun: number }> => {
    const before = steps
    const inForce = limitsInForce(limits, { row: { changed } } as never)
    const outcome = await createKernel(createKernelParts(model, sources)).run(
      runInput({ agent: agentSpec({}, { limits: inForce }), toolset: toolsetOf(tools) }),
      runPorts({
        journal,
        nextSeq: () => (seq += 1),
        mayRaise: true,
        platform: { turnNanoUsd: () => turnNanoUsd, beyond: () => 0 },
        atLimit: (ending, turns) => {
          const options = { limits: inForce, changes: 0, nowMs: now, turnNanoUsd }
          const pause = pauseAt(ending, turns, options)
          return { message: pause.reached.message, pause }
        },
      }),
    )
    return { outcome, begun: steps - before }
  }
  const raise = (to: Partial<Limits>) => {
    limits = { ...limits, ...to }
    changed.limits = { ...to }
  }
  return { segment, raise }
}

describe('the limit that the next step needs', () => {
  it.each(names)(
    'E1: of %s lets a step begin, exactly as it is said, over 30 runs',
    async (name) => {
      let raises = 0
      for (let seed = 1; seed <= 30; seed += 1) {
        const run = createRun(seed, name)
        let { outcome } = await run.segment()
        for (let tries = 0; outcome.state === 'parked' && tries < 60; tries += 1) {
          const { limit, needed, spent } = outcome.pauses[0]!.reached!
          expect(limit, `seed ${seed}`).toBe(name)
          expect(needed!, `seed ${seed}`).toBeGreaterThan(name === 'maxDepth' ? 0 : spent!)
          raises += 1
          run.raise({ [name]: needed! })
          const next = await run.segment()
          expect(
            next.begun,
            `seed ${seed}, ${outcome.pauses[0]!.reached!.message}`,
          ).toBeGreaterThan(0)
          outcome = next.outcome
        }
        expect(outcome.state, `seed ${seed}`).toBe('completed')
      }
      expect(raises).toBeGreaterThan(10)
    },
  )
})
