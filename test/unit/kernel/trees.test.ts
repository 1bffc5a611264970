import { expect, it } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import { IsolaError } from '#contracts/errors.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { narrower, type Limits } from '#contracts/lease.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import {
  agentSpec,
  createFakeModel,
  createFakeSources,
  createEndingKernel,
  createKernelParts,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
} from '../../fakes/kernel.ts'
import { createRandom } from '../../fakes/random.ts'

interface Spent {
  tokens: number
  turns: number
  toolCalls: number
  children: number
}

/** Runs one random tree and counts, outside of all bookkeeping, what it really did. */
async function growTree(seed: number) {
  const random = createRandom(seed)
  const spent: Spent = { tokens: 0, turns: 0, toolCalls: 0, children: 0 }
  const limits: Limits = {
    ...defaultAgentLimits,
    maxTokens: random.int(200, 20_000),
    maxTurns: random.int(1, 40),
    maxToolCalls: random.int(0, 60),
    maxChildren: random.int(0, 12),
    maxDepth: random.int(0, 4),
    maxConcurrency: random.int(1, 8),
  }
  const sources = createFakeSources({
    nowMs: () => 0,
    sleep: (_ms, signal) =>
      new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
  })
  const controllers: AbortController[] = []
  let deepest = 0
  let children = 0

  async function runAgent(lease: Limits, depth: number, signal: AbortSignal): Promise<AgentResult> {
    deepest = Math.max(deepest, depth)
    const controller = new AbortController()
    controllers.push(controller)
    let turn = 0
    const model = createFakeModel(() => {
      spent.turns += 1
      turn += 1
      if (random.chance(0.05)) return { error: new IsolaError('model_unavailable', 'down') }
      const inputTokens = random.int(1, 100)
      const outputTokens = random.int(0, 50)
      spent.tokens += inputTokens + outputTokens
      if (random.chance(0.1))
        controllers[random.int(0, controllers.length - 1)]?.abort(new Error('cancelled'))
      if (turn > random.int(1, 6)) return { text: 'done', inputTokens, outputTokens }
      const calls = Array.from({ length: random.int(1, 4) }, (_, index) => ({
        name: random.chance(0.5) ? 'child' : 'plain',
        input: { index },
      }))
      return { calls, inputTokens, outputTokens }
    })
    const tools: ToolEntry[] = [
      toolEntry('plain', async () => {
        spent.toolCalls += 1
        if (random.chance(0.2)) throw new Error('broken')
        return says('ok')
      }),
      toolEntry(
        'child',
        async (_input, context) => {
          spent.toolCalls += 1
          spent.children += 1
          children += 1
          const result = await runAgent(
            narrower(defaultAgentLimits, context.lease),
            depth + 1,
            context.signal,
          )
          if (random.chance(0.1)) throw new Error('the answer was lost')
          return result.success
            ? { ok: true, output: result.result, usage: result.usage }
            : {
                ok: false,
                error: { code: 'tool_failed', message: result.state },
                usage: result.usage,
              }
        },
        { spends: defaultAgentLimits },
      ),
    ]
    const kernel = createEndingKernel(createKernelParts(model, sources))
    const input = runInput({
      run: `run_${children}`,
      agent: agentSpec(lease),
      toolset: toolsetOf(tools),
      depth,
    })
    return kernel.run(input, runPorts({ signal: AbortSignal.any([signal, controller.signal]) }))
  }

  const result = await runAgent(limits, 0, new AbortController().signal)
  return { limits, spent, result, deepest }
}

it('N6: no random tree passes any limit of its root by one unit, over 200 seeds, and every run ends once', async () => {
  const states = new Map<string, number>()
  let widest = 0
  for (let seed = 1; seed <= 200; seed += 1) {
    const { limits, spent, result, deepest } = await growTree(seed)
    const label = `seed ${seed}`
    expect(spent.tokens, label).toBeLessThanOrEqual(limits.maxTokens)
    expect(spent.turns, label).toBeLessThanOrEqual(limits.maxTurns)
    expect(spent.toolCalls, label).toBeLessThanOrEqual(limits.maxToolCalls)
    expect(spent.children, label).toBeLessThanOrEqual(limits.maxChildren)
    expect(deepest, label).toBeLessThanOrEqual(limits.maxDepth)
    // What the books say is never less than what was really done.
    expect(result.usage.tokens, label).toBeGreaterThanOrEqual(spent.tokens)
    expect(result.usage.tokens, label).toBeLessThanOrEqual(limits.maxTokens)
    expect(result.usage.toolCalls, label).toBeLessThanOrEqual(limits.maxToolCalls)
    states.set(result.state, (states.get(result.state) ?? 0) + 1)
    widest = Math.max(widest, spent.children)
  }
  // The seeds must really reach what they are for.
  expect([...states.keys()].sort()).toEqual(['cancelled', 'completed', 'failed', 'stopped'])
  expect(widest).toBeGreaterThan(5)
})
