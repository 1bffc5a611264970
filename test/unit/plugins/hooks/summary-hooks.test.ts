import { describe, expect, it } from 'vitest'
import { labelFrom } from '#contracts/label.ts'
import type { AddedTexts } from '#runtime/kernel/types/plan.ts'
import type { HookAnswer, HookEvent } from '#features/plugins/types/plugin.ts'
import { modelPlanner } from '../../../../src/features/agents/model-planner.ts'
import { createLiveHooks } from '../../../../src/features/plugins/hooks/live-hooks.ts'
import { asksForSummary, createContextParts, prose, says, user } from '../../../fakes/context.ts'
import {
  createEndingKernel,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
} from '../../../fakes/kernel.ts'
import { bundle, createTestHooks, loadOne } from '../../../fakes/plugins.ts'
import { createRandom } from '../../../fakes/random.ts'

/** More than a model with a window of 16,000 tokens takes. */
function longTalk() {
  const random = createRandom(16)
  const turns = Array.from({ length: 30 }, () => [
    user(prose(random, 300)),
    says(prose(random, 300)),
  ])
  return [...turns.flat(), user('Go on.')]
}

type Answer = (event: HookEvent) => HookAnswer | Promise<HookAnswer>

/** A run that has to be summed up first; the plugin is asked at each model call, with the place of it. */
async function run(
  answers: { readonly before?: (at: number) => HookAnswer; readonly after?: Answer },
  { agents = ['tester'], added }: { agents?: readonly string[]; added?: AddedTexts } = {},
) {
  const told: HookEvent[] = []
  const hear =
    (answer: Answer) =>
    async (event: HookEvent): Promise<HookAnswer> => {
      told.push(event)
      return answer(event)
    }
  const { before = () => {}, after = () => {} } = answers
  let at = 0
  const plugin = loadOne(
    bundle(
      {
        id: 'filter',
        contributes: {
          hooks: ['beforeModelCall', 'afterModelCall'].map((on) => ({ on, match: '*' })),
        },
      },
      () => ({
        hooks: { beforeModelCall: hear(() => before((at += 1))), afterModelCall: hear(after) },
      }),
    ),
  )
  const clock = { nowMs: () => 0, sleep: () => new Promise<void>(() => {}) }
  const hooks = createTestHooks([plugin], { clock })
  const directory = { list: () => agents.map((name) => ({ name })) }
  const { around, aroundSummary } = createLiveHooks(async () => ({ hooks, directory }))
  const world = createContextParts(
    (request) => ({ text: asksForSummary(request) ? 'NOTES: Lisbon.' : 'Done.' }),
    16_000,
    { aroundSummary },
  )
  const planner = around(modelPlanner)
  const parts = createKernelParts(world.models, { ...world.more, planner })
  const journal = createMemoryJournal()
  const ports = runPorts({ journal, ...(added && { added }) })
  const result = await createEndingKernel(parts).run(runInput({ messages: longTalk() }), ports)
  const rows = [...journal.rows.values()]
  const events = rows.flatMap((row) => row.events)
  const summaries = rows
    .flatMap(({ compactions = [] }) => compactions)
    .flatMap(({ parts: all }) => all.flatMap((part) => ('summary' in part ? [part] : [])))
  const compacted = events.find(({ type }) => type === 'context_compacted')?.data
  return { result, told, events, summaries, compacted, requests: world.models.requests }
}

const systemOf = ({ messages: [first] }: { messages: readonly { role: string }[] }): string =>
  first?.role === 'system' && 'text' in first ? String(first.text) : ''

describe('P16, P29: hooks around the call that sums up what does not fit', () => {
  it('are asked before it and told after it, as of any model call', async () => {
    const { result, told } = await run({})
    expect(result.state).toBe('completed')
    const points = ['beforeModelCall', 'afterModelCall']
    expect(told.map(({ on }) => on)).toEqual([...points, ...points])
    expect(told[1]).toMatchObject({ run: 'run_1', agent: 'tester', text: 'NOTES: Lisbon.' })
  })

  it('T11: a summary has the label of what they added to the request that made it', async () => {
    const label = labelFrom('page', { confidentiality: 'public' })
    const kept = [{ plugin: 'filter', text: 'as begun', label }]
    const { summaries } = await run({}, { added: { note: () => {}, kept } })
    expect(summaries).toMatchObject([{ label: { integrity: 'stranger' } }])
    expect(summaries[0]!.label!.sources).toEqual(label.sources)
  })

  it('a veto sends nothing of the conversation to be summed up: the rule does it', async () => {
    const { result, requests, compacted } = await run({
      before: (at) => (at === 1 ? { veto: 'not this' } : undefined),
    })
    expect(requests.map(asksForSummary)).toEqual([false])
    expect(compacted).toMatchObject({ by: 'rule', refused: 'model_denied', tokens: 0 })
    expect(result.state).toBe('completed')
  })

  it('fail closed', async () => {
    const { requests, compacted } = await run({
      before(at) {
        if (at === 1) throw new Error('/srv/app/secrets')
      },
    })
    expect(requests.map(asksForSummary)).toEqual([false])
    expect(compacted).toMatchObject({ by: 'rule', refused: 'model_denied' })
  })

  it('add their text to it', async () => {
    const { requests } = await run({ before: () => ({ text: 'Never repeat a card number.' }) })
    expect(requests.map(asksForSummary)).toEqual([true, false])
    for (const request of requests)
      expect(systemOf(request)).toContain(
        'Added by the plugin filter:\nNever repeat a card number.',
      )
  })

  it('I19: texts added to it are not those the run was begun with, which a woken run goes on with', async () => {
    const noted: string[] = []
    const note: AddedTexts['note'] = (texts) => noted.push(...texts.map(({ text }) => text))
    await run({ before: (at) => ({ text: `at ${at}` }) }, { added: { note } })
    expect(noted).toEqual(['at 2'])
    const kept = [{ plugin: 'filter', text: 'as begun' }]
    const again = await run({ before: () => ({ text: 'anew' }) }, { added: { note, kept } })
    for (const request of again.requests) {
      expect(systemOf(request)).toContain('as begun')
      expect(systemOf(request)).not.toContain('anew')
    }
  })

  it('are asked under a name of its own, so that what a hook does once a call it does for this one too', async () => {
    const { events } = await run({ before: () => ({ text: 'Short.' }) })
    const calls = events.flatMap(({ type, data }) =>
      type === 'hook_called' ? (data.calls ?? []).map(({ call }) => call) : [],
    )
    expect(calls).toEqual(['turn_1_summary', 'turn_1'])
  })

  it('an agent that was switched off asks no model for it', async () => {
    const { result, requests } = await run({}, { agents: [] })
    expect(requests).toEqual([])
    expect(result.error?.code).toBe('model_denied')
  })
})
