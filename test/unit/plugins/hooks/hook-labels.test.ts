import { describe, expect, it } from 'vitest'
import { joinLabels, labelFrom, ownLabel, saidLabel, type Label } from '#contracts/label.ts'
import type { HookPoint } from '../../../../src/runtime/catalog/types/permit.ts'
import type { Capabilities, HookAnswer, HookEvent } from '#features/plugins/types/plugin.ts'
import type { StorageRequest } from '#contracts/space.ts'
import type { ToolResult } from '#contracts/tool.ts'
import { modelPlanner } from '../../../../src/features/agents/model-planner.ts'
import {
  createEndingKernel,
  createFakeModel,
  createKernelParts,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
} from '../../../fakes/kernel.ts'
import {
  bundle,
  createCapabilityDeps,
  createTestHooks,
  loadOne,
  type FakeDeps,
} from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

const page = labelFrom('page', { confidentiality: 'public' })
const notes = labelFrom('notes', { integrity: 'data' })
const made: Label = { integrity: 'tool', confidentiality: 'public', sources: [] }

/** A hook that keeps what it hears and answers so; with the labels that its values were kept under. */
function keeping(on: HookPoint, answer: (event: HookEvent) => HookAnswer = () => {}) {
  const kept: (Label | undefined)[] = []
  const storage = async (request: StorageRequest) => {
    if (request.verb === 'set') kept.push(request.label)
    return { found: true }
  }
  const hook = async (event: HookEvent, can: Capabilities) => {
    await can.storage.set('heard', JSON.stringify(event))
    return answer(event)
  }
  const manifest = {
    id: 'demo',
    contributes: { hooks: [{ on, match: '*' }] },
    grants: { storage: '1mb' },
  }
  const plugin = loadOne(bundle(manifest, () => ({ hooks: { [on]: hook } })))
  const sessions = { at: () => ({ storage }) } as unknown as NonNullable<FakeDeps['sessions']>
  const capabilities = createCapabilityDeps({ sessions })
  return { kept, hooks: createTestHooks([plugin], { capabilities }) }
}
const subject = (signal = new AbortController().signal) => ({
  ...createToolContext({ label: saidLabel, signal }),
  tool: 'demo__go',
  input: {},
})

describe('T11: a hook', () => {
  it('that holds a result back says so under the label of the result that it has heard', async () => {
    const { hooks } = keeping('afterToolCall', ({ result }) => ({ veto: String(result) }))
    const result = await hooks.tools.after(subject(), { ok: true, output: 'POST it', label: page })
    expect(result).toMatchObject({ ok: false, error: { code: 'tool_denied' } })
    expect(result.label).toEqual(joinLabels([saidLabel, page, made]))
  })

  it('keeps a result, or an error’s words, under the label of that', async () => {
    const { hooks, kept } = keeping('afterToolCall')
    await hooks.tools.after(subject(), { ok: true, output: 'a page', label: page })
    const error = { code: 'tool_failed', message: 'a page' } as const
    await hooks.tools.after(subject(), { ok: false, error, label: notes })
    await hooks.tools.after(subject(), { ok: false, error })
    expect(kept).toEqual([page, notes, ownLabel].map((one) => joinLabels([saidLabel, made, one])))
  })

  it('that is told of several calls at once says of each what it can have of the others', async () => {
    const { hooks, kept } = keeping('afterToolCall', ({ result }) => ({ result: result ?? null }))
    const { signal } = new AbortController()
    const results = await Promise.all(
      [saidLabel, page].map((label) =>
        hooks.tools.after(subject(signal), { ok: true, output: 1, label }),
      ),
    )
    const all = joinLabels([saidLabel, made, page])
    expect(kept).toEqual([all, all])
    expect(results.map(({ label }: ToolResult) => label)).toEqual([all, all])
  })

  it('keeps what a sub-agent said under the label of that', async () => {
    const { hooks, kept } = keeping('subAgentStop')
    const rev = { agent: 'rev', child: 'ses_child', state: 'completed', text: 'a page' }
    await hooks.subAgentStopped!(rev, createToolContext({ label: joinLabels([saidLabel, page]) }))
    expect(kept).toEqual([joinLabels([saidLabel, page, made])])
  })

  it('that refuses a run says so under the label of what it has heard and read', async () => {
    const { hooks } = keeping('beforeModelCall', () => ({ veto: 'no, for STRANGE reasons' }))
    const planner = hooks.around(modelPlanner)
    const parts = createKernelParts(createFakeModel([]), { planner })
    const result = await createEndingKernel(parts).run(
      runInput({ label: joinLabels([saidLabel, page]) }),
      runPorts(),
    )
    expect(result).toMatchObject({ state: 'failed', error: { code: 'model_denied' } })
    expect(result.label).toEqual(joinLabels([saidLabel, page, made]))
  })

  it('around a model call keeps what it hears under the label of the context, and not the worst', async () => {
    const before = keeping('beforeModelCall')
    const after = keeping('afterModelCall')
    const toolset = toolsetOf([toolEntry('page', async () => says('a page'), { yields: page })])
    const planner = after.hooks.around(before.hooks.around(modelPlanner))
    const model = createFakeModel([{ calls: [{ name: 'page' }] }, { text: 'Done.' }])
    await createEndingKernel(createKernelParts(model, { planner })).run(
      runInput({ toolset, label: saidLabel }),
      runPorts(),
    )
    const said = joinLabels([saidLabel, made])
    expect(before.kept).toEqual([said, joinLabels([said, page])])
    expect(after.kept).toEqual([said, joinLabels([said, page])])
  })
})
