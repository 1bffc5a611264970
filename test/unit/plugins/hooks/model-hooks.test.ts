import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '#contracts/event.ts'
import type { RunInput } from '#runtime/kernel/types/kernel.ts'
import type { HookAnswer, HookEvent } from '#features/plugins/types/plugin.ts'
import { modelPlanner } from '../../../../src/features/agents/model-planner.ts'
import {
  createEndingKernel,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
  type Script,
} from '../../../fakes/kernel.ts'
import { bundle, createTestHooks, loadOne } from '../../../fakes/plugins.ts'

/** A plugin that keeps what it is told and answers by point. */
function listener(
  answers: Readonly<Record<string, (event: HookEvent) => HookAnswer | Promise<HookAnswer>>>,
  { id = 'watch', match = '*' } = {},
) {
  const told: HookEvent[] = []
  const hooks = Object.entries(answers).map(([on, answer]) => {
    const hook = async (event: HookEvent) => {
      told.push(event)
      return answer(event)
    }
    return [on, hook] as const
  })
  const contributes = { hooks: Object.keys(answers).map((on) => ({ on, match })) }
  const plugin = loadOne(bundle({ id, contributes }, () => ({ hooks: Object.fromEntries(hooks) })))
  return { plugin, told, points: () => told.map(({ on }) => on) }
}

const late = { nowMs: () => 0, sleep: async () => {} }

async function run(
  listeners: readonly ReturnType<typeof listener>[],
  {
    script = [{ text: 'Done.' }],
    input = {},
    clock = { ...late, sleep: () => new Promise<void>(() => {}) },
    journal = createMemoryJournal(),
  }: {
    script?: Script
    input?: Partial<RunInput>
    clock?: typeof late
    journal?: ReturnType<typeof createMemoryJournal>
  } = {},
) {
  const model = createFakeModel(script)
  const hooks = createTestHooks(
    listeners.map(({ plugin }) => plugin),
    { clock },
  )
  const parts = createKernelParts(model, { planner: hooks.around(modelPlanner) })
  const result = await createEndingKernel(parts).run(runInput(input), runPorts({ journal }))
  const events: readonly SessionEvent[] = [...journal.rows.values()].flatMap((turn) => turn.events)
  const called = events.flatMap(({ type, data }) => (type === 'hook_called' ? [data] : []))
  return { result, requests: model.requests, called, hooks, journal }
}

const twoTurns: Script = [{ calls: [{ name: 'go' }] }, { text: 'Done.' }]
const toolset = toolsetOf([toolEntry('go', async () => says('gone'))])

describe('P16: hooks around a run', () => {
  it('are told of the start of a session, the task and each model call, in this order', async () => {
    const watch = listener({
      afterModelCall: () => {},
      beforeModelCall: () => {},
      beforeDispatch: () => {},
      sessionStart: () => {},
    })
    const { result, called } = await run([watch], {
      script: twoTurns,
      input: { opening: 'start', toolset },
    })
    expect(result.state).toBe('completed')
    expect(watch.points()).toEqual([
      'sessionStart',
      'beforeDispatch',
      'beforeModelCall',
      'afterModelCall',
      'beforeModelCall',
      'afterModelCall',
    ])
    const about = { session: 'ses_1', run: 'run_1', agent: 'tester', principal: 'operator' }
    expect(watch.told[1]).toEqual({ on: 'beforeDispatch', ...about, text: 'go' })
    expect(watch.told.at(-1)).toEqual({
      on: 'afterModelCall',
      ...about,
      model: 'fake',
      text: 'Done.',
    })
    expect(called).toHaveLength(6)
    expect(JSON.stringify(called)).not.toContain('Done.')
  })

  it('ask no plugin about a later run of the session that it starts, nor about a sub-agent that a person speaks to', async () => {
    const watch = listener({ sessionStart: () => {}, beforeDispatch: () => {} })
    await run([watch])
    expect(watch.points()).toEqual(['beforeDispatch'])
    await run([watch], { input: { depth: 1, opening: 'start' } })
    expect(watch.points()).toEqual(['beforeDispatch', 'sessionStart'])
  })

  it('are told when a run goes on from an earlier place of its session', async () => {
    const watch = listener({ sessionStart: () => {}, sessionReset: () => {} })
    await run([watch], { script: twoTurns, input: { opening: 'reset', toolset } })
    expect(watch.points()).toEqual(['sessionReset'])
  })

  it('ask only about the agents that match', async () => {
    const watch = listener({ beforeModelCall: () => ({ veto: 'no' }) }, { match: 'review*' })
    const { result, called } = await run([watch])
    expect(result.state).toBe('completed')
    expect(watch.told).toEqual([])
    expect(called).toEqual([])
  })

  it.each(['beforeDispatch', 'beforeModelCall'])('a veto at %s ends the run', async (on) => {
    const watch = listener({ [on]: () => ({ veto: 'not today' }) })
    const { result, requests, called } = await run([watch])
    expect(result).toMatchObject({
      state: 'failed',
      error: {
        code: 'model_denied',
        message: 'The plugin watch does not allow it: not today',
      },
    })
    expect(requests).toEqual([])
    expect(called).toMatchObject([{ on, verdict: 'vetoed', plugin: 'watch' }])
  })

  it.each(['beforeDispatch', 'beforeModelCall'])('%s fails closed', async (on) => {
    const boom = () => {
      throw new Error('/srv/app/secrets')
    }
    for (const answer of [boom, () => ({ result: 1 }), () => 'yes' as never]) {
      const { result, requests } = await run([listener({ [on]: answer })])
      expect(result.error).toMatchObject({
        code: 'model_denied',
        message: expect.stringMatching(/^A check before .* failed\.$/) as unknown,
      })
      expect(requests).toEqual([])
    }
    const hang = listener({ [on]: () => new Promise<HookAnswer>(() => {}) })
    const { result } = await run([hang], { clock: late })
    expect(result.error?.code).toBe('model_denied')
  })

  it.each(['sessionStart', 'afterModelCall'] as const)('%s never breaks a run', async (on) => {
    const boom = () => {
      throw new Error('boom')
    }
    for (const answer of [boom, () => ({ veto: 'no' }), () => 7 as never]) {
      const after = listener({ [on]: () => {} }, { id: 'after' })
      const { result, called } = await run([listener({ [on]: answer }), after], {
        input: { opening: 'start' },
      })
      expect(result.state).toBe('completed')
      expect(called.map(({ verdict }) => verdict)).toEqual(['failed', 'allow'])
      expect(after.points()).toEqual([on])
    }
    const hang = listener({ [on]: () => new Promise<HookAnswer>(() => {}) })
    const { result } = await run([hang], { clock: late, input: { opening: 'start' } })
    expect(result.state).toBe('completed')
  })

  it('add to the instructions of one call, labelled, after those of the agent', async () => {
    const one = listener({ beforeModelCall: () => ({ text: 'Be brief.' }) }, { id: 'one' })
    const two = listener({ beforeModelCall: () => ({ text: 'Be kind.' }) }, { id: 'two' })
    const { requests } = await run([one, two])
    expect(requests[0]?.messages).toEqual([
      {
        role: 'system',
        text: 'You test.\n\nAdded by the plugin one:\nBe brief.\n\nAdded by the plugin two:\nBe kind.',
      },
      { role: 'user', text: 'go', taint: ['user'] },
    ])
  })

  it('are not asked again about what the journal shows as passed', async () => {
    const watch = listener({ sessionStart: () => {}, beforeModelCall: () => {} })
    const { journal } = await run([watch], {
      script: twoTurns,
      input: { opening: 'start', toolset },
    })
    const first = journal.rows.get(1)!
    watch.told.length = 0
    // Cut after its first turn.
    const resumed = createMemoryJournal([first])
    await run([watch], {
      script: [{ text: 'Done.' }],
      input: { opening: 'start', toolset },
      journal: resumed,
    })
    expect(watch.points()).toEqual(['beforeModelCall'])
  })

  it('leave the planner as it is without a listener', async () => {
    const { hooks } = await run([listener({ beforeToolCall: () => {} })])
    expect(hooks.around(modelPlanner)).toBe(modelPlanner)
  })
})
