import { describe, expect, it } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import { IsolaError, type ModelErrorCode } from '#contracts/errors.ts'
import { parseManifest } from '../../../src/runtime/catalog/types/permit.ts'
import type { ActionResult } from '#runtime/kernel/types/plan.ts'
import { createSubAgentEntry } from '../../../src/features/agents/sub-agent-tool.ts'
import { createFinishReflector } from '../../../src/features/agents/model-planner.ts'
import {
  createFakeClock,
  createFakeModel,
  createFakeSources,
  createEndingKernel,
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
import { createFakeGateway, submitAsTo } from '../../fakes/session-gateway.ts'

const clock = toolEntry('clock', async () => says('12:00'))
const broken = toolEntry('broken', async () => {
  throw new Error('broken')
})
const toolset = toolsetOf([clock, broken])
const runOf = (script: Script) =>
  createEndingKernel(createKernelParts(createFakeModel(script))).run(
    runInput({ toolset }),
    runPorts(),
  )

describe('the execution engine', () => {
  it('I14: executes a tool step in its context, and what came of it reaches the reflector', async () => {
    const seen: (readonly ActionResult[])[] = []
    const reflector = createFinishReflector(openGates.validator)
    const parts = createKernelParts(
      createFakeModel([{ calls: [{ name: 'clock' }, { name: 'broken' }] }, { text: 'done' }]),
      {
        reflector: {
          reflect: (state) => (seen.push(state.actions), reflector.reflect(state)),
        },
      },
    )
    const { actions } = await createEndingKernel(parts).run(runInput({ toolset }), runPorts())
    expect(seen).toMatchObject([
      [
        { callId: actions[0]?.callId, toolId: 'clock', result: says('12:00') },
        {
          callId: actions[1]?.callId,
          toolId: 'broken',
          result: {
            ok: false,
            error: { code: 'tool_failed', message: expect.any(String) as string },
          },
        },
      ],
      [],
    ])
  })

  it('C7: tells of each step as it ends, and leaves the loop at a finish', async () => {
    const told: [number, boolean][] = []
    const model = createFakeModel([
      { calls: [{ name: 'clock' }] },
      { text: 'done' },
      { text: 'never asked for' },
    ])
    await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset }),
      runPorts({ onWritten: ({ turn, isDone }) => void told.push([turn, isDone]) }),
    )
    expect(told).toEqual([
      [1, true],
      [2, true],
    ])
    expect(model.requests).toHaveLength(2)
  })

  it('C7: leaves the loop when it is aborted between two steps, before anything else is asked', async () => {
    const controller = new AbortController()
    const model = createFakeModel(() => ({ calls: [{ name: 'clock' }] }))
    const journal = createMemoryJournal()
    const result = await createEndingKernel(createKernelParts(model)).run(
      runInput({ toolset }),
      runPorts({
        journal,
        signal: controller.signal,
        onWritten: ({ turn }) => void (turn === 2 && controller.abort(new Error('enough'))),
      }),
    )
    expect(result).toMatchObject({ state: 'cancelled', error: { message: 'enough' } })
    expect(model.requests).toHaveLength(2)
    expect(result.actions).toHaveLength(2)
  })

  it('C7: one engine serves many runs at once, each with its own state', async () => {
    const kernel = createEndingKernel(
      createKernelParts(
        createFakeModel(({ messages }) =>
          messages.some(({ role }) => role === 'tool')
            ? { text: JSON.stringify(messages[1]) }
            : { calls: [{ name: 'clock' }] },
        ),
      ),
    )
    const results = await Promise.all(
      ['one', 'two', 'three'].map((text) =>
        kernel.run(
          runInput({ run: text, toolset, messages: [{ role: 'user', text, taint: ['user'] }] }),
          runPorts(),
        ),
      ),
    )
    expect(results.map(({ id, result }) => [id, JSON.parse(result).text as string])).toEqual([
      ['one', 'one'],
      ['two', 'two'],
      ['three', 'three'],
    ])
    expect(results.map(({ usage }) => usage.turns)).toEqual([2, 2, 2])
  })

  it('C7: success, steps, tool errors, latency, tokens and cost of many runs add up from their results', async () => {
    const clockMs = createFakeClock()
    const slow = toolEntry('slow', async () => {
      await clockMs.advance(40)
      return says('late')
    })
    const timed = await createEndingKernel(
      createKernelParts(
        createFakeModel([{ calls: [{ name: 'slow' }] }, { text: 'done' }]),
        createFakeSources(clockMs),
      ),
    ).run(runInput({ toolset: toolsetOf([slow]) }), runPorts())
    const results: readonly AgentResult[] = [
      timed,
      await runOf([{ calls: [{ name: 'clock' }, { name: 'broken' }] }, { text: 'done' }]),
      await runOf([{ error: new IsolaError('model_unavailable', 'down') }]),
    ]
    const actions = results.flatMap((result) => result.actions)
    const sum = (of: (result: AgentResult) => number) =>
      results.reduce((total, result) => total + of(result), 0)
    expect({
      success: results.filter(({ success }) => success).length / results.length,
      steps: results.map(({ steps }) => steps),
      toolErrors: actions.filter(({ ok }) => !ok).length / actions.length,
      slowest: Math.max(...actions.map(({ durationMs }) => durationMs)),
      tokens: sum(({ usage }) => usage.tokens),
      costUsd: sum(({ costEstimateUsd }) => costEstimateUsd),
      byModel: results.flatMap(({ modelCalls }) => modelCalls).length,
    }).toEqual({
      success: 2 / 3,
      steps: [2, 2, 0],
      toolErrors: 1 / 3,
      slowest: 40,
      tokens: 440,
      costUsd: 0,
      byModel: 4,
    })
  })
})

describe('failures of a sub-agent', () => {
  const classes: readonly (readonly [string, ModelErrorCode])[] = [
    ['config', 'model_not_configured'],
    ['auth', 'model_auth'],
    ['timeout', 'model_timeout'],
    ['network', 'model_network'],
    ['model', 'model_invalid_reply'],
  ]
  it.each(classes)(
    'C8: of the class %s are told apart by the caller, and the caller goes on',
    async (_class, code) => {
      const manifest = parseManifest({
        id: 'worker',
        name: 'Worker',
        version: '1.0.0',
        description: 'Works.',
        agent: { integration_mode: 'tool', model: 'm', instructions: 'p.md' },
      })
      const sessions = createFakeGateway({
        run: async () => ({
          ok: true,
          value: await runOf([{ error: new IsolaError(code, `It was ${code}.`) }]),
        }),
      })
      const entry = createSubAgentEntry({
        manifest,
        agent: manifest.agent!,
        hash: 'abc',
        tier: 'builtin',
        clock: createFakeClock(),
        sessions,
        submitAs: submitAsTo(sessions),
      })
      const model = createFakeModel([
        { calls: [{ name: 'worker__run', input: { task: 'go' } }] },
        { text: 'done without it' },
      ])
      const result = await createEndingKernel(createKernelParts(model)).run(
        runInput({ toolset: toolsetOf([entry]) }),
        runPorts(),
      )
      expect(result).toMatchObject({ state: 'completed', result: 'done without it' })
      expect(model.requests[1]?.messages.at(-1)).toMatchObject({
        isError: true,
        output: {
          error: { code: 'tool_failed', message: expect.stringContaining(code) as string },
        },
      })
    },
  )
})
