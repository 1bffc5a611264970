import { afterEach, expect, it, vi } from 'vitest'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { callJson, type Answer } from '../fakes/client.ts'
import { createRandom } from '../fakes/random.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

const seeds = Array.from({ length: 20 }, (_, index) => index + 1)
const levels = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

/** The actual work, counted outside of all bookkeeping; the Worker's plugins write here too. */
const counts = vi.hoisted(() => ({ goes: new Map<string, number>() }))

/** The limits of a seed's root agent. */
function limitsOf(seed: number) {
  const random = createRandom(seed)
  return {
    max_turns: random.int(2, 80),
    max_tokens_per_invocation: random.int(1_000, 120_000),
    max_tool_calls: random.int(2, 80),
    max_children: random.int(1, 30),
    max_depth: random.int(1, 5),
    max_concurrency: random.int(1, 6),
  }
}

vi.mock('../../src/bundled.gen.ts', async () => {
  const { bundleAgent, bundleWork } = await import('../fixtures/agents.ts')
  const wide = { max_depth: 8, max_turns: 30, max_tool_calls: 60, max_children: 20 }
  const bundledPlugins: readonly BundledPlugin[] = [
    bundleWork((task) => counts.goes.set(task, (counts.goes.get(task) ?? 0) + 1)),
    ...levels.map((id) => bundleAgent({ id, uses: ['work', ...levels], limits: wide })),
    ...seeds.map((seed) =>
      bundleAgent({ id: `root-${seed}`, uses: ['work', ...levels], limits: limitsOf(seed) }),
    ),
  ]
  return { bundledPlugins }
})

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

const taskOf = ({ messages }: UpstreamRequest) =>
  String(messages.find(({ role }) => role === 'user')?.content)
const answered = ({ messages }: UpstreamRequest) =>
  messages.filter(({ role }) => role === 'tool').length
const start = async (agent: string, task: string) => {
  const session = (await callJson('/api/sessions', { json: { agent } })).id as string
  const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task } })
  return { session, run: run as string }
}
const finish = ({ session, run }: { session: string; run: string }): Promise<Answer> =>
  vi.waitFor(
    async () => {
      const path = `/api/sessions/${session}/runs/${run}`
      const view = await callJson(path)
      // It asks at a limit, which stays as it is.
      for (const { call, kind } of view.pauses ?? [])
        if (kind === 'budget')
          await callJson(`${path}/decisions`, { json: { call, decision: 'deny' } })
      expect(['completed', 'stopped', 'failed', 'cancelled']).toContain(view.state)
      return view.result
    },
    { timeout: 60_000, interval: 20 },
  )

interface Node {
  readonly agent: string
  readonly runs: readonly Answer[]
  readonly children: readonly Node[]
}
const flatten = (
  node: Node,
  depth = 0,
): readonly { readonly node: Node; readonly depth: number }[] => [
  { node, depth },
  ...node.children.flatMap((child) => flatten(child, depth + 1)),
]

it('X6: a tree of seven levels works, deeper than facets go', async () => {
  upstream = installUpstream((request) => {
    const own = taskOf(request)
    const next = levels[own.length]
    if (answered(request) > 0 || next === undefined) return { text: `${own} is back` }
    return { calls: [{ name: `${next}__run`, input: { task: `${own}${next}` } }] }
  })
  const started = await start('a', 'a')
  const result = await finish(started)
  expect(result).toMatchObject({ state: 'completed', result: 'a is back' })
  const nodes = flatten(await callJson(`/api/sessions/${started.session}`))
  expect(nodes.map(({ node, depth }) => [node.agent, depth])).toEqual(
    levels.map((agent, depth) => [agent, depth]),
  )
  expect(result.usage).toMatchObject({ tokens: 13 * 110, turns: 13, children: 6, toolCalls: 6 })
  expect(upstream.requests).toHaveLength(13)
})

const states = new Set<string>()
let widest = 0
let deepest = 0

it.each(seeds)(
  'E3, N6: tree %i of real sessions never passes a limit of its root and ends everywhere once',
  async (seed) => {
    const never = new Promise<never>(() => {})
    const billed = { tokens: 0, turns: 0 }
    counts.goes.clear()
    // Decided by who asks and when, so that the same seed grows the same tree whatever the timing.
    const script: UpstreamScript = (request) => {
      const task = taskOf(request)
      const turn = request.messages.filter(({ role }) => role === 'assistant').length
      const random = createRandom(hash(`${seed}/${task}/${turn}`))
      billed.turns += 1
      if (random.chance(0.06)) return { status: 400 }
      if (random.chance(0.04)) return { wait: never }
      billed.tokens += 110
      if (turn >= random.int(1, 4)) return { text: 'done' }
      const above = task.split('/')[0]!.split('.')
      const free = levels.filter((level) => !above.includes(level))
      const calls = Array.from({ length: random.int(1, 4) }, (_, index) => {
        const next = free[random.int(0, free.length - 1)]
        const path = `${[...above, next].join('.')}/${task.split('/')[1] ?? ''}${turn}${index}`
        return next !== undefined && random.chance(0.55)
          ? { name: `${next}__run`, input: { task: path } }
          : { name: 'work__go', input: { task: path, fail: random.chance(0.2) } }
      })
      return { calls }
    }
    upstream = installUpstream(script)
    const root = `root-${seed}`
    const started = await start(root, `${root}/`)
    // Every third is cancelled on its way; the rest only if a model never answers.
    const patience = seed % 3 === 0 ? 40 : 2_500
    const stop = setTimeout(() => {
      void callJson(`/api/sessions/${started.session}/runs/${started.run}/cancel`, { json: {} })
    }, patience)
    const result = await finish(started)
    clearTimeout(stop)

    const limits = limitsOf(seed)
    const nodes = await vi.waitFor(
      async () => {
        const found = flatten(await callJson(`/api/sessions/${started.session}`))
        for (const { node } of found)
          for (const { state } of node.runs)
            expect(['completed', 'stopped', 'failed', 'cancelled']).toContain(state)
        return found
      },
      { timeout: 60_000, interval: 50 },
    )
    const goes = [...counts.goes.values()]
    const children = nodes.length - 1
    const depth = Math.max(...nodes.map((one) => one.depth))
    const toolCalls = goes.reduce((sum, count) => sum + count, 0) + children
    const label = JSON.stringify({
      seed,
      limits,
      billed,
      children,
      depth,
      toolCalls,
      usage: result.usage,
    })

    // The actual spending is within the limits of the root, to the unit.
    expect(billed.tokens, label).toBeLessThanOrEqual(limits.max_tokens_per_invocation)
    expect(billed.turns, label).toBeLessThanOrEqual(limits.max_turns)
    expect(toolCalls, label).toBeLessThanOrEqual(limits.max_tool_calls)
    expect(children, label).toBeLessThanOrEqual(limits.max_children)
    expect(depth, label).toBeLessThanOrEqual(limits.max_depth)
    // The books are within the limits too, and never below what was done.
    const { tokens, turns, toolCalls: booked, children: bookedChildren } = result.usage
    expect(tokens, label).toBeGreaterThanOrEqual(billed.tokens)
    expect(tokens, label).toBeLessThanOrEqual(limits.max_tokens_per_invocation)
    expect(turns, label).toBeGreaterThanOrEqual(billed.turns)
    expect(turns, label).toBeLessThanOrEqual(limits.max_turns)
    expect(booked, label).toBeGreaterThanOrEqual(toolCalls)
    expect(booked, label).toBeLessThanOrEqual(limits.max_tool_calls)
    expect(bookedChildren, label).toBeGreaterThanOrEqual(children)
    expect(bookedChildren, label).toBeLessThanOrEqual(limits.max_children)
    // Each effect once, each session one run with one end.
    expect(
      goes.every((count) => count === 1),
      label,
    ).toBe(true)
    expect(nodes.map(({ node }) => node.runs.length)).toEqual(nodes.map(() => 1))

    states.add(result.state)
    widest = Math.max(widest, children)
    deepest = Math.max(deepest, depth)
  },
)

it('E3: the trees really reached what they are for', () => {
  expect([...states].toSorted((a, b) => a.localeCompare(b))).toEqual([
    'cancelled',
    'completed',
    'failed',
    'stopped',
  ])
  expect(widest).toBeGreaterThan(4)
  expect(deepest).toBeGreaterThan(2)
})

/** FNV-1a: a number from a text, the same everywhere. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const character of text) value = Math.imul(value ^ character.charCodeAt(0), 0x01000193)
  return value >>> 0
}
