import { describe, expect, it } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { JsonObject } from '#contracts/json.ts'
import {
  joinLabels,
  labelFrom,
  ownLabel,
  saidLabel,
  sink,
  type Label,
  type Sink,
} from '#contracts/label.ts'
import type { ToolContext, ToolEntry, ToolResult } from '#contracts/tool.ts'
import { emptySnapshot } from '../../../src/runtime/catalog/catalog-gateway.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import { createLivePolicy } from '../../../src/features/policy/live-policy.ts'
import { toolPolicySchema } from '../../../src/runtime/kernel/types/tool-policy.ts'
import {
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
  type Line,
} from '../../fakes/kernel.ts'
import { createRandom } from '../../fakes/random.ts'

const page = labelFrom('page', { confidentiality: 'public' })
const notes = labelFrom('notes', { integrity: 'data' })
const harmless = { integrity: 'tool', confidentiality: 'public', sources: [] } as const
const snapshot: PluginSnapshot = {
  ...emptySnapshot,
  pins: { policy: [{ id: 'policy', policy: toolPolicySchema.parse({}) }] },
}
/** The policy that ships, without a person to ask. */
const gates = {
  ...openGates,
  ...createLivePolicy({
    snapshot: async () => snapshot,
    ownHosts: [],
    takeRate: async () => ({}),
    toAsk: (_subject, { about = '' }) => ({ about }),
  }),
}
type World = ReturnType<typeof world>
/** Tools whose results have these labels, and those that do something outward; what each was called with. */
function world(more: readonly ToolEntry[] = []) {
  const done: { readonly sink: Sink; readonly label: Label | undefined }[] = []
  const seen: Record<string, ToolContext> = {}
  const reads = (name: string, label: Label) =>
    toolEntry(name, async (_input, context) => ((seen[name] = context), says(name)), {
      sinks: [],
      yields: label,
    })
  const does = (name: Sink) =>
    toolEntry(name, async (_input, { label }) => (done.push({ sink: name, label }), says('done')), {
      sinks: [name],
      yields: harmless,
      // A host that an operator named, which is told no private data.
      goesTo: () => ({}),
    })
  const entries = [
    reads('page', page),
    reads('notes', notes),
    reads('clock', harmless),
    ...sink.options.map(does),
    ...more,
  ]
  return { done, seen, toolset: toolsetOf(entries) }
}
async function run(
  { toolset }: World,
  script: readonly Line[],
  label = saidLabel,
): Promise<{
  readonly result: AgentResult
  readonly journal: ReturnType<typeof createMemoryJournal>
}> {
  const journal = createMemoryJournal()
  const kernel = createEndingKernel(createKernelParts(createFakeModel(script), { gates }))
  const result = await kernel.run(runInput({ toolset, label }), runPorts({ journal }))
  return { result, journal }
}
const call = (name: string, input?: JsonObject): Line => ({
  calls: [{ name, ...(input && { input }) }],
})
const codes = ({ actions }: AgentResult) => actions.map(({ code = 'ok' }) => code)

describe('the label of a context', () => {
  it('T11: is that of all that was said so far, in each row, in each call, and in the result', async () => {
    const there = world()
    const { result, journal } = await run(there, [
      call('clock'),
      call('page'),
      call('notes'),
      { text: 'done' },
    ])
    const rows = [...journal.rows.values()].map(({ label }) => label)
    const read = joinLabels([saidLabel, harmless, page])
    const all = joinLabels([read, notes])
    expect(rows).toEqual([saidLabel, joinLabels([saidLabel, harmless]), read, all])
    expect(there.seen['notes']?.label).toEqual(read)
    expect(result.label).toEqual(all)
  })

  it('begins with the label of the transcript, and with the worst where the transcript has none', async () => {
    const there = world()
    await run(there, [call('page'), { text: 'done' }], notes)
    expect(there.seen['page']?.label).toEqual(notes)
    const kernel = createEndingKernel(createKernelParts(createFakeModel([{ text: 'done' }])))
    const { label } = await kernel.run(runInput(), runPorts())
    expect(label).toMatchObject({ integrity: 'stranger', confidentiality: 'private' })
  })

  it('has what a hook added to a model call, or made of an input or a result', async () => {
    const hook = labelFrom('hook')
    const hooks = {
      before: async () => ({ veto: false, input: { a: 1 }, label: hook }) as const,
      after: async (_subject: unknown, result: ToolResult) => ({ ...result, label: hook }),
    }
    const parts = createKernelParts(createFakeModel([call('clock'), { text: 'done' }]))
    const there = world()
    const kernel = createEndingKernel({ ...parts, gates: { ...openGates, hooks } })
    const { label } = await kernel.run(
      runInput({ toolset: there.toolset, label: saidLabel }),
      runPorts(),
    )
    expect(there.seen['clock']?.label).toEqual(joinLabels([saidLabel, hook]))
    expect(label).toEqual(joinLabels([saidLabel, hook]))
  })

  it('is in the question of an approval, with what a hook made of the arguments', async () => {
    const hook = labelFrom('hook')
    const hooks = {
      before: async () => ({ veto: false, input: { a: 1 }, label: hook }) as const,
      after: async (_subject: unknown, result: ToolResult) => result,
    }
    const parts = createKernelParts(createFakeModel([call('clock')]))
    const approvals = { isNeeded: () => ({}) }
    const own = { ...parts, gates: { ...openGates, hooks, approvals } }
    const outcome = await createKernel(own).run(
      runInput({ toolset: world().toolset, label: saidLabel, options: { pauses: 'park' } }),
      runPorts(),
    )
    expect(outcome.state === 'parked' && outcome.pauses[0]?.label).toEqual(
      joinLabels([saidLabel, hook]),
    )
  })

  it('of code that calls tools has what they returned; so has its result', async () => {
    const found: Record<string, ToolResult> = {}
    const inner = world()
    const code = toolEntry(
      'script',
      async (_input, { inner: calls }) => {
        for (const name of ['write', 'page', 'write', 'notes', 'egress'])
          found[`${name}${name in found ? 2 : ''}`] = await calls!.callTool(name, {})
        return says('done')
      },
      {
        sinks: [],
        yields: harmless,
        spends: runInput().agent.limits,
        inner: { resolve: inner.toolset.resolve, children: 0 },
      },
    )
    const { result } = await run(world([code]), [call('script'), { text: 'done' }])
    const oks = Object.entries(found).map(([name, { ok }]) => [name, ok])
    expect(oks).toEqual([
      ['write', true],
      ['page', true],
      ['write2', false],
      ['notes', true],
      ['egress', false],
    ])
    expect(inner.done).toHaveLength(1)
    expect(result.label).toEqual(joinLabels([saidLabel, harmless, page, notes]))
  })

  it('T11: of code that another tool’s code calls has what that one had read', async () => {
    const inner = world()
    const limits = runInput().agent.limits
    const found: ToolResult[] = []
    const below = toolEntry(
      'below',
      async (_input, { inner: calls }) => (
        found.push(await calls!.callTool('write', {})),
        says('done')
      ),
      {
        sinks: [],
        yields: harmless,
        spends: limits,
        inner: { resolve: inner.toolset.resolve, children: 0 },
      },
    )
    const between = toolsetOf([below])
    const code = toolEntry(
      'script',
      async (_input, { inner: calls }) => calls!.callTool('below', {}, page),
      {
        sinks: [],
        yields: harmless,
        spends: limits,
        inner: { resolve: between.resolve, children: 0 },
      },
    )
    await run(world([code]), [call('script'), { text: 'done' }])
    expect(found.map(({ ok }) => ok)).toEqual([false])
    expect(inner.done).toEqual([])
  })

  it('says why a call was refused, and a call that was refused adds nothing', async () => {
    const there = world()
    const { result, journal } = await run(there, [call('page'), call('write'), { text: 'done' }])
    expect(codes(result)).toEqual(['ok', 'tool_denied'])
    expect(there.done).toEqual([])
    const refused = journal.rows.get(2)?.calls[0]?.outcome
    expect(refused?.ok === false && refused.error.message).toMatch(/stranger.*\(page\).*change/)
    expect(journal.rows.get(3)?.label).toEqual(journal.rows.get(2)?.label)
  })

  it('a row without a label is the worst of what its tools can have returned', async () => {
    const there = world()
    const { journal } = await run(there, [call('clock'), call('clock'), { text: 'done' }])
    const { label: _none, ...first } = journal.rows.get(1)!
    const old = createMemoryJournal([first])
    const model = createFakeModel([call('write'), { text: 'done' }])
    const kernel = createEndingKernel(createKernelParts(model, { gates }))
    const { toolset } = there
    const result = await kernel.run(
      runInput({ toolset, label: saidLabel }),
      runPorts({ journal: old }),
    )
    expect(codes(result).at(-1)).toBe('tool_denied')
    expect(there.done).toEqual([])
  })
})

describe('no tainted value decides an outward effect', () => {
  const { int } = createRandom(11)
  /** What each tool has in it, by itself: the oracle knows nothing of labels. */
  const facts = { page: ['stranger'], notes: ['private'], clock: [] } as const
  const readers = Object.keys(facts) as (keyof typeof facts)[]

  it('T11: in programs at random each effect was steered by the user, or carried nothing private', async () => {
    let allowed = 0
    let refused = 0
    for (let round = 0; round < 150; round += 1) {
      const there = world()
      const knows = new Set<string>()
      const expected: Sink[] = []
      const script = Array.from({ length: int(1, 8) }, (): Line => {
        const before = new Set(knows)
        const calls = Array.from({ length: int(1, 3) }, () => {
          if (int(0, 1) === 0) {
            const name = readers[int(0, readers.length - 1)]!
            for (const fact of facts[name]) knows.add(fact)
            return { name }
          }
          const name = sink.options[int(0, sink.options.length - 1)]!
          const isHarm = name === 'egress' ? before.has('private') : true
          if (before.has('stranger') && isHarm) refused += 1
          else expected.push(name)
          return { name }
        })
        return { calls }
      })
      await run(there, [...script, { text: 'done' }])
      expect(there.done.map((one) => one.sink).toSorted()).toEqual(expected.toSorted())
      allowed += expected.length
    }
    expect([allowed > 100, refused > 100]).toEqual([true, true])
  })

  it('a tool without labels from its host counts as one that does everything, and yields the worst', async () => {
    const ran: string[] = []
    const unknown = toolEntry('unknown', async () => (ran.push('unknown'), says('x')))
    const { result } = await run(world([unknown]), [
      call('unknown'),
      call('unknown'),
      { text: 'done' },
    ])
    expect(codes(result)).toEqual(['ok', 'tool_denied'])
    expect(result.label).toEqual(joinLabels([ownLabel, saidLabel, labelFrom('unknown')]))
  })
})
