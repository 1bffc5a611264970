// @alone: it adds up all that is on the record.
import { plusPlatform } from '../../src/contracts/lease.ts'
import type { PlatformAmounts } from '../../src/contracts/platform.ts'
import { afterEach, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { changePlugin } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream>
afterEach(() => upstream.restore())

const isReviewer = ({ messages }: UpstreamRequest) =>
  !String(messages[0]?.content).includes('Available tools')
const calls = {
  delegate: { name: 'code-reviewer__run', input: { task: 'look' } },
  store: { name: 'kv__set', input: { key: 'a', value: 1 } },
  code: { name: 'code__run', input: { code: 'return 1' } },
}

/** Runs a task in a session of this principal's own, and returns the session with all that hangs below it. */
async function runAs(key: string, task: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}` }
  const { id } = await callJson('/api/sessions', { json: {}, headers })
  const json = { task, wait: true, model: 'openai/gpt-4o-mini' }
  const { state } = await callJson(`/api/sessions/${id}/runs`, { json, headers })
  expect(state).toBe('completed')
  return callJson(`/api/sessions/${id}`, { headers })
}

const all = (tree: Answer): Answer[] => [tree, ...tree.children.flatMap(all)]
const usageBy = (by: string, more = '') => callJson(`/api/operator/usage?by=${by}${more}`)
const rowOf = ({ rows }: Answer, name: string | null): Answer =>
  rows.find((row: Answer) => row.name === name)

it('C7, E1: the record adds up to the usage that the runs report, of each principal and agent, with no limit set', async () => {
  let refusals = 1
  upstream = installUpstream((request) => {
    const text = JSON.stringify(request.messages)
    if (isReviewer(request) || request.messages.at(-1)?.role === 'tool') return { text: 'done' }
    if (text.includes('FAIL') && (refusals -= 1) >= 0) throw new Error('Network connection lost.')
    if (text.includes('ALL')) return { calls: [calls.store, calls.delegate, calls.code] }
    return { text: 'done' }
  })
  await changePlugin('code', 'enable')
  const keyOf = async (principal: string) =>
    (await callJson('/api/operator/keys', { json: { principal, role: 'user' } })).key
  const [ann, bob] = [await keyOf('ann'), await keyOf('bob')]
  const trees = {
    ann: [await runAs(ann, 'Do ALL of it.'), await runAs(ann, 'Say hello.')],
    bob: [await runAs(bob, 'FAIL once, then say hello.')],
  }
  const sum = (of: (tree: Answer) => number, list: Answer[]) =>
    list.reduce((total, tree) => total + of(tree), 0)
  const platformOf = (list: Answer[]) =>
    list.map(({ usage }) => usage.platform as PlatformAmounts).reduce(plusPlatform, {})
  // A session's own usage has everything below it.
  const expected = (list: Answer[]) => ({
    runs: sum((tree) => all(tree).length, list),
    modelCalls: sum(({ usage }) => usage.modelCalls, list),
    toolCalls: sum(({ usage }) => usage.toolCalls, list),
    tokens: sum(({ usage }) => usage.tokens, list),
    inputTokens: sum(({ usage }) => usage.inputTokens, list),
    outputTokens: sum(({ usage }) => usage.outputTokens, list),
    costUsd: expect.closeTo(
      sum((tree) => tree.costEstimateUsd, list),
      12,
    ),
    // What the platform was made to do returns to the run above it, as tokens do; the record has it where it was done.
    platform: platformOf(list),
    platformUsd: expect.closeTo(sum(({ usage }) => usage.platformNanoUsd, list) / 1e9, 7),
  })
  const everything = [...trees.ann, ...trees.bob]
  const byPrincipal = await vi.waitFor(
    async () => {
      const report = await usageBy('principal')
      expect(report.total).toEqual(expected(everything))
      return report
    },
    { timeout: 60_000, interval: 200 },
  )
  expect(rowOf(byPrincipal, 'ann')).toEqual({ name: 'ann', ...expected(trees.ann) })
  expect(rowOf(byPrincipal, 'bob')).toEqual({ name: 'bob', ...expected(trees.bob) })
  // One request of Bob's failed and may have been billed.
  expect(rowOf(byPrincipal, 'bob').tokens).toBeGreaterThan(4_096)

  const byAgent = await usageBy('agent')
  const reviewer = trees.ann[0].children[0]
  expect(rowOf(byAgent, 'code-reviewer')).toMatchObject({ runs: 1, tokens: reviewer.usage.tokens })
  const tokens = ({ rows }: Answer) => sum((row) => row.tokens, rows)
  const cost = ({ rows }: Answer) => sum((row) => row.costUsd, rows)
  for (const by of ['agent', 'session', 'model', 'plugin']) {
    const report = await usageBy(by)
    expect([by, tokens(report)]).toEqual([by, byPrincipal.total.tokens])
    expect(cost(report)).toBeCloseTo(byPrincipal.total.costUsd, 12)
    expect(report.total).toEqual(byPrincipal.total)
  }
  expect(rowOf(await usageBy('session'), reviewer.id)).toMatchObject({
    principal: 'ann',
    agent: 'code-reviewer',
    tokens: reviewer.usage.tokens,
  })
  const byPlugin = await usageBy('plugin')
  expect(rowOf(byPlugin, 'kv')).toMatchObject({ toolCalls: 1, costUsd: 0 })
  expect(rowOf(byPlugin, 'code')).toMatchObject({ toolCalls: 1, costUsd: 0.002 })
  expect(rowOf(byPlugin, 'code-reviewer')).toMatchObject({ toolCalls: 1, tokens: 0 })
  // What agents ask models themselves is of no plugin, also where a plugin brought the agent.
  expect(rowOf(byPlugin, null)).toMatchObject({ tokens: byPrincipal.total.tokens, toolCalls: 0 })
  expect((await usageBy('model', '&principal=bob')).rows).toMatchObject([
    { name: 'openai/gpt-4o-mini', runs: 1 },
  ])

  const auditor = (
    await callJson('/api/operator/keys', { json: { principal: 'eve', role: 'auditor' } })
  ).key
  const status = async (key: string) =>
    (
      await call('/api/operator/usage?by=principal', {
        headers: { authorization: `Bearer ${key}` },
      })
    ).status
  expect([await status(auditor), await status(ann)]).toEqual([200, 403])
})
