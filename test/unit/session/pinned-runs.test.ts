import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import type { RunOutcome } from '#runtime/session/types/session-view.ts'
import type { AgentUse } from '#runtime/session/types/runtime.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { createPrepareRun } from '../../../src/features/agents/pinned-agent.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { createToolset } from '../../../src/runtime/catalog/toolset.ts'
import { decideCalls } from '../../../src/runtime/session/waiting/outside.ts'
import { agentSpec, says, sha256, toolEntry, type Line, type Script } from '../../fakes/kernel.ts'
import { bundle, createTestHooks, loadOne } from '../../fakes/plugins.ts'
import {
  createSessionWorld,
  never,
  pauseMs,
  settle,
  type WorldOptions,
} from '../../switches/session-world.ts'

interface Generation {
  readonly tools?: readonly ToolEntry[]
  readonly core?: 'with-core-tools' | 'without-core-tools'
  readonly isPinned?: (entry: ToolEntry) => boolean
}

/** Each test begins with a tool that may change, and one that needs an approval and does not change. */
function setUp(script: Script, more: Partial<WorldOptions> = {}) {
  const ran: string[] = []
  const tool = (name: string, version: number, about: Partial<ToolEntry> = {}) =>
    toolEntry(
      name,
      async () => {
        ran.push(`${name} ${version}`)
        return says(`${name} ${version}`)
      },
      { definitionHash: `${name}:${version}`, ...about },
    )
  const ask = tool('ask', 1, { needsApproval: true })
  const generation = (version: number, { tools, ...about }: Generation = {}) => {
    const entries = tools ?? [ask, tool('notes', version)]
    const toolset = createToolset(entries, {
      core: 'with-core-tools',
      buildIndex: createSearchIndex,
      ...about,
    })
    const spec = agentSpec({}, { instructions: `Prompt ${version}.`, model: `m/${version}` })
    return createPrepareRun(spec, toolset, { sha256 })
  }
  let now = generation(1)
  const world = createSessionWorld({
    script,
    load: async (_agent, options, use: AgentUse = {}) => now(options, use),
    ...more,
  })
  return {
    ...world,
    ran,
    tool,
    generation,
    /** From here on this is enabled. */
    enable: (next: typeof now) => void (now = next),
  }
}

type World = ReturnType<typeof setUp>
type Life = ReturnType<World['wake']>

/** Takes in a run, which waits for an approval. */
async function park(life: Life): Promise<{ run: string; call: string }> {
  const outcome = await life.run()
  if (outcome.state !== 'parked') throw new Error(`it is ${JSON.stringify(outcome)}`)
  return { run: outcome.id, call: outcome.pauses[0]!.call }
}

async function approve(
  { clock }: World,
  life: Life,
  { run, call }: { run: string; call: string },
): Promise<RunOutcome> {
  const decisions = [{ call, decision: { decision: 'approve' } as const }]
  decideCalls(life.row(run), { decisions, nowMs: clock.nowMs(), pauseMs, sha256 }, life)
  return life.runs.live(run)!.done
}

const calls = (name: string, input: JsonObject = {}): Line => ({ calls: [{ name, input }] })
const asked = ({ model }: World) =>
  model.requests.map(({ model: name, messages }) => [
    name,
    messages[0]?.role === 'system' && messages[0].text,
  ])
const began = ['m/1', 'Prompt 1.']
const codesOf = (outcome: RunOutcome) =>
  outcome.state === 'parked' ? [] : outcome.actions.map(({ tool, ok, code }) => [tool, ok || code])

describe('I19: a run that waits while its agent is changed', () => {
  it('goes on with the prompt, the model and the tools that it began with', async () => {
    const world = setUp([calls('ask'), { text: 'done' }, { text: 'new' }])
    const parked = await park(world.wake())
    world.enable(world.generation(2, { tools: [world.tool('ask', 1), world.tool('more', 2)] }))
    expect(await approve(world, world.wake(), parked)).toMatchObject({ result: 'done' })
    expect(asked(world)).toEqual([began, began])
    const names = world.model.requests.map(({ tools }) => tools.map(({ name }) => name))
    expect(names[1]).toEqual(names[0])
    await world.wake().run()
    expect(asked(world)[2]).toEqual(['m/2', 'Prompt 2.'])
  })

  it('does not go on after a yes where its model was taken meanwhile, and says so', async () => {
    const message = 'There is no model "m/1" here for you any more.'
    const lost = { code: 'request_model_not_found' as const, message }
    let isTaken = false
    const world = setUp([calls('ask'), { text: 'done' }], {
      whyNotOn: async () => (isTaken ? lost : undefined),
    })
    const parked = await park(world.wake())
    isTaken = true
    expect(await approve(world, world.wake(), parked)).toMatchObject({
      state: 'failed',
      error: lost,
    })
    expect(world.model.requests).toHaveLength(1)
    expect(world.ran).toEqual([])
  })

  it('is refused a changed tool, until it has looked at it again', async () => {
    const find = calls('isola__find', { queries: ['notes'] })
    const script = [calls('ask'), calls('notes'), calls('notes'), find, calls('notes')]
    const world = setUp([...script, { text: 'done' }])
    const parked = await park(world.wake())
    world.enable(world.generation(2))
    const outcome = await approve(world, world.wake(), parked)
    expect(codesOf(outcome)).toEqual([
      ['ask', true],
      ['notes', 'tool_changed'],
      ['notes', 'tool_changed'],
      ['isola__find', true],
      ['notes', true],
    ])
    expect(world.ran).toEqual(['ask 1', 'notes 2'])
    expect(JSON.stringify(world.model.requests[2]!.messages.at(-1))).toContain('isola__find')
  })

  it('E6: is refused the waiting call itself, if its tool is another now', async () => {
    const world = setUp([calls('ask'), { text: 'done' }])
    const parked = await park(world.wake())
    world.enable(world.generation(2, { tools: [world.tool('ask', 2, { needsApproval: true })] }))
    const outcome = await approve(world, world.wake(), parked)
    expect(codesOf(outcome)).toEqual([['ask', 'tool_changed']])
    expect(world.ran).toEqual([])
  })

  it('is told of a tool that is gone what it was always told', async () => {
    const world = setUp([calls('ask'), calls('notes'), { text: 'done' }])
    const parked = await park(world.wake())
    world.enable(world.generation(2, { tools: [world.tool('ask', 1)] }))
    const outcome = await approve(world, world.wake(), parked)
    expect(codesOf(outcome)).toEqual([
      ['ask', true],
      ['notes', 'tool_not_found'],
    ])
  })

  it('is shown what a tool is now where it has nothing to look with', async () => {
    const world = setUp([calls('ask'), calls('notes'), calls('notes'), { text: 'done' }])
    const core = 'without-core-tools' as const
    world.enable(world.generation(1, { core }))
    const parked = await park(world.wake())
    world.enable(world.generation(2, { core }))
    const outcome = await approve(world, world.wake(), parked)
    expect(codesOf(outcome)).toEqual([
      ['ask', true],
      ['notes', 'tool_changed'],
      ['notes', true],
    ])
    expect(JSON.stringify(world.model.requests[2]!.messages.at(-1))).toContain('Does notes.')
  })

  it('knows a tool that it found, or called, as it was then', async () => {
    const find = calls('isola__find', { queries: ['notes'] })
    const call = (name: string) => calls('isola__call', { name, input: {} })
    const script = [find, call('plain'), calls('ask'), call('notes'), call('plain')]
    const world = setUp([...script, { text: 'done' }])
    const { tool } = world
    const of = (version: number) => ({
      tools: [
        tool('ask', 1, { needsApproval: true }),
        tool('notes', version),
        tool('plain', version),
      ],
      isPinned: ({ tool: { name } }: ToolEntry) => name === 'ask',
    })
    world.enable(world.generation(1, of(1)))
    const parked = await park(world.wake())
    world.enable(world.generation(1, of(2)))
    const outcome = await approve(world, world.wake(), parked)
    expect(codesOf(outcome).slice(2)).toEqual([
      ['ask', true],
      ['notes', 'tool_changed'],
      ['plain', 'tool_changed'],
    ])
  })
})

describe('I3, I19: a run that is cut while its agent is changed', () => {
  it.each([
    ['first', 0, []],
    ['second', 1, [calls('notes')]],
  ])('goes on in its %s turn with what it began with', async (_turn, cut, before) => {
    const world = setUp((_request, index) => {
      if (index === cut) return { wait: never }
      return index < cut ? before[index]! : { text: 'done' }
    })
    const { receipt } = await world.wake().take()
    await settle()
    world.enable(world.generation(2))
    const life = world.wake()
    life.runs.resume()
    expect(await life.runs.live(receipt.run)!.done).toMatchObject({ result: 'done' })
    expect(new Set(asked(world).map(String))).toEqual(new Set([String(began)]))
  })

  it('E1: finds again what works elsewhere for a call, whatever its tool is by now', async () => {
    const world = setUp([calls('work'), { text: 'done' }])
    const of = (version: number, wait: Promise<unknown>) => {
      const about = { isReadOnly: false, isIdempotent: true, spends: agentSpec().limits }
      const execute = async () => (await wait, says('worked'))
      return [toolEntry('work', execute, { ...about, definitionHash: `work:${version}` })]
    }
    world.enable(world.generation(1, { tools: of(1, never) }))
    const { receipt } = await world.wake().take()
    await settle()
    world.enable(world.generation(2, { tools: of(2, Promise.resolve()) }))
    const life = world.wake()
    life.runs.resume()
    expect(codesOf(await life.runs.live(receipt.run)!.done)).toEqual([['work', true]])
  })
})

describe('C6: what runs were begun with', () => {
  const kept = ({ store }: Life) =>
    store.runs().flatMap(({ order, pin }) => (pin?.agent ? [order] : []))

  it('is kept once for all runs that began with it, in no row of its own', async () => {
    const world = setUp(() => ({ text: 'hi' }))
    const life = world.wake()
    for (let run = 0; run < 3; run += 1) await life.run()
    await world.wake().run()
    expect(kept(life)).toEqual([1])
    expect(life.store.runs().map(({ pin }) => pin?.at)).toEqual([1, 1, 1, 1])
  })

  it('costs a plain run no statement', async () => {
    const world = setUp(() => ({ text: 'hi' }))
    const life = world.wake()
    await life.run()
    await life.run()
    await settle()
    const statements: string[] = []
    world.failWhere((query) => statements.push(query) < 0)
    await life.run()
    await settle()
    const row = expect.stringMatching(/^INSERT INTO log VALUES \(/)
    expect(statements).toEqual([row, row])
  })

  it('goes once it is not the newest and no unfinished run needs it', async () => {
    const world = setUp(({ messages }) =>
      JSON.stringify(messages.at(-1)).includes('wait') ? calls('ask') : { text: 'done' },
    )
    const waits = { messages: [{ role: 'user', text: 'wait', taint: ['user'] }] } as const
    const life = world.wake()
    await life.run()
    world.enable(world.generation(2))
    const outcome = await life.run(waits)
    expect(kept(life)).toEqual([2])
    world.enable(world.generation(3))
    await life.run()
    await life.run()
    expect(kept(life)).toEqual([2, 3])
    if (outcome.state !== 'parked') throw new Error('it does not wait')
    await approve(world, life, { run: outcome.id, call: outcome.pauses[0]!.call })
    expect(kept(life)).toEqual([2, 3])
    await life.run()
    expect(kept(life)).toEqual([3])
    expect(asked(world)[4]).toEqual(asked(world)[1])
  })

  it('F7: is not named by a run that could not be written', async () => {
    const world = setUp(() => ({ text: 'hi' }))
    const life = world.wake()
    world.failWhere((query) => query.startsWith('INSERT INTO log'))
    const { live } = await life.take()
    await expect(live!.done).rejects.toThrow()
    world.failWhere(() => false)
    await life.run()
    await life.run()
    expect(kept(life)).toHaveLength(1)
    expect(new Set(life.store.runs().map(({ pin }) => pin?.at))).toEqual(new Set(kept(life)))
  })
})

describe('I19: what hooks add to the instructions', () => {
  it('is for a run that is taken up again what it was when that began', async () => {
    let text = 'old'
    const contributes = { hooks: [{ on: 'beforeModelCall' }] }
    const adds = loadOne(
      bundle({ id: 'adds', contributes }, () => ({
        hooks: { beforeModelCall: async () => ({ text }) },
      })),
    )
    const world = setUp([calls('ask'), { text: 'done' }, { text: 'new' }], {
      around: createTestHooks([adds]).around,
    })
    const parked = await park(world.wake())
    text = 'new'
    await approve(world, world.wake(), parked)
    await world.wake().run()
    const added = (word: string) => expect.stringContaining(`Added by the plugin adds:\n${word}`)
    expect(asked(world).map(([, system]) => system)).toEqual([
      added('old'),
      added('old'),
      added('new'),
    ])
  })

  it('I3: is not lost with a crash that came before its first model call', async () => {
    let asked = 0
    const contributes = { hooks: [{ on: 'beforeModelCall' }] }
    const rules = bundle({ id: 'rules', contributes }, () => ({
      hooks: {
        async beforeModelCall() {
          asked += 1
          // The second run has begun, and waits for this when the crash comes.
          if (asked === 2) await never
          return { text: 'Be polite.' }
        },
      },
    }))
    const { promise, resolve: release } = Promise.withResolvers<void>()
    const world = setUp([{ text: 'first', wait: promise }, { text: 'second' }], {
      around: createTestHooks([loadOne(rules)]).around,
    })
    const life = world.wake()
    await life.take()
    const { receipt } = await life.take()
    release()
    await settle()
    expect([asked, life.row(receipt.run).startSeq !== undefined]).toEqual([2, true])
    const next = world.wake()
    next.runs.resume()
    expect(await next.runs.live(receipt.run)!.done).toMatchObject({ result: 'second' })
    const { messages } = world.model.requests.at(-1)!
    expect(JSON.stringify(messages[0])).toContain('Be polite.')
    const { added } = next.row(receipt.run)
    const label = { integrity: 'tool', confidentiality: 'said', sources: [] }
    expect(added).toEqual([{ plugin: 'rules', text: 'Be polite.', label }])
  })
})
