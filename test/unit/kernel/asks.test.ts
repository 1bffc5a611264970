import { describe, expect, it } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Parked } from '#runtime/kernel/types/kernel.ts'
import { joinLabels, labelFrom, ownLabel } from '#contracts/label.ts'
import { zeroUsage } from '#contracts/lease.ts'
import type { PauseAnswer } from '#runtime/kernel/types/pause.ts'
import type { AskAnswers, Asks, ToolContext, ToolEntry, ToolResult } from '#contracts/tool.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import {
  agentSpec,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
} from '../../fakes/kernel.ts'

const asking = (asks: Asks): ToolResult => ({
  ok: false,
  error: { code: 'tool_pending', message: 'later' },
  pause: { kind: 'question', expires: true, asks },
})
const name = { message: 'Name?' }
const color = { message: 'Color?' }
const answered = (asked: JsonObject, answer: string): AskAnswers[string] => ({ asked, answer })

/** One call of one tool over several segments, each a fresh kernel over the same journal. */
function setUp(
  execute: (context: ToolContext) => Promise<ToolResult>,
  more: Partial<ToolEntry> = {},
  maxToolCalls?: number,
) {
  const journal = createMemoryJournal()
  const answers: Record<string, PauseAnswer> = {}
  const seen: (AskAnswers | undefined)[] = []
  const entry = toolEntry(
    'ask',
    (_input, context) => (seen.push(context.answers), execute(context)),
  )
  const model = createFakeModel((_request, index) =>
    index === 0 ? { calls: [{ name: 'ask', input: { a: 1 } }] } : { text: 'done' },
  )
  let seq = 0
  const segment = (): Promise<AgentResult | Parked> =>
    createKernel(createKernelParts(model)).run(
      runInput({
        options: { pauses: 'park' },
        agent: agentSpec(maxToolCalls === undefined ? {} : { maxToolCalls }),
        toolset: toolsetOf([{ ...entry, isReadOnly: false, ...more }]),
      }),
      runPorts({ journal, nextSeq: () => (seq += 1), answerTo: (call) => answers[call] }),
    )
  const parked = async () => {
    const outcome = await segment()
    if (outcome.state !== 'parked') throw new Error(`not parked but ${outcome.state}`)
    return outcome.pauses[0]!
  }
  const ended = async () => {
    const outcome = await segment()
    if (outcome.state === 'parked') throw new Error('parked')
    return outcome
  }
  return { journal, answers, seen, segment, parked, ended }
}

/** Asks for a name, then for a color. */
const twice = async ({ answers }: ToolContext): Promise<ToolResult> => {
  if (!answers?.['name']) return asking({ name })
  if (!answers['color']) return asking({ color })
  return says('thanks')
}

describe('a call that asks', () => {
  it('T11: asks with the label of what it can have read, and of what it says that it has', async () => {
    const page = labelFrom('page', { confidentiality: 'public' })
    const notes = labelFrom('notes', { integrity: 'data' })
    const labelOf = async (execute: () => Promise<ToolResult>) =>
      (await setUp(execute, { yields: page }).parked()).label
    const own = await labelOf(async () => ({ ...asking({ name }), label: ownLabel }))
    expect(await labelOf(async () => asking({ name }))).toEqual(joinLabels([own, page]))
    const said = async () => ({ ...asking({ name }), label: notes })
    expect(await labelOf(said)).toEqual(joinLabels([own, notes]))
  })

  it('runs again from its start with the answers, as often as it asks', async () => {
    const run = setUp(twice)
    const first = await run.parked()
    expect(first).toMatchObject({ kind: 'question', asks: { name } })
    const one = { name: answered(name, 'Ann') }
    run.answers[first.call] = { kind: 'answered', answers: one }
    const second = await run.parked()
    expect(second).toMatchObject({ call: first.call, asks: { color } })
    const both = { ...one, color: answered(color, 'red') }
    run.answers[first.call] = { kind: 'answered', answers: both }
    const { actions, state } = await run.ended()
    expect([state, actions]).toMatchObject(['completed', [{ ok: true }]])
    expect(run.seen).toEqual([undefined, one, both])
    const told = run.journal.load().flatMap(({ events }) => events)
    expect(
      told.flatMap(({ type, data }) => (type === 'pause_answered' ? [data['answer']] : [])),
    ).toEqual(['answered', 'answered'])
  })

  it.each<[string, PauseAnswer]>([
    ['another question', { kind: 'answered', answers: { name: answered(color, 'red') } }],
    ['another key', { kind: 'answered', answers: { color: answered(name, 'Ann') } }],
    ['leave to run', { kind: 'approved', argsHash: '', definitionHash: '' }],
  ])('T21: goes on waiting after an answer to %s', async (_what, answer) => {
    const run = setUp(twice)
    const { call } = await run.parked()
    run.answers[call] = answer
    expect((await run.parked()).asks).toEqual({ name })
    expect(run.seen).toHaveLength(1)
  })

  it('E6: needs the approval that it had, whatever is answered', async () => {
    const run = setUp(twice, { needsApproval: true })
    const { call, argsHash, definitionHash } = await run.parked()
    const leave = { kind: 'approved', argsHash, definitionHash } as const
    run.answers[call] = leave
    expect((await run.parked()).asks).toEqual({ name })
    const answers = { name: answered(name, 'Ann') }
    run.answers[call] = { kind: 'answered', answers }
    expect((await run.parked()).kind).toBe('approval')
    run.answers[call] = { ...leave, answers }
    expect((await run.parked()).asks).toEqual({ color })
    expect(run.seen).toHaveLength(2)
  })

  it('E1: has what it spent before it asked on its bill', async () => {
    const spent = { ...zeroUsage, tokens: 70, modelCalls: 1 }
    const limits = { ...agentSpec().limits, maxTokens: 5_000 }
    const run = setUp(
      async ({ answers }) => ({ ...(answers ? says('ok') : asking({ name })), usage: spent }),
      { spends: limits },
    )
    const { call } = await run.parked()
    expect(run.journal.load()[0]!.usage.tokens).toBe(110 + 70)
    run.answers[call] = { kind: 'answered', answers: { name: answered(name, 'Ann') } }
    const { usage } = await run.ended()
    expect(usage).toMatchObject({ tokens: 2 * 110 + 2 * 70, toolCalls: 1, modelCalls: 4 })
  })

  it('E1: is a tool call of its run each time that it runs, within the limit', async () => {
    const run = setUp(twice)
    const { call } = await run.parked()
    expect(run.journal.load()[0]!.usage.toolCalls).toBe(1)
    const one = { name: answered(name, 'Ann') }
    run.answers[call] = { kind: 'answered', answers: one }
    await run.parked()
    expect(run.journal.load()[0]!.usage.toolCalls).toBe(2)
    const both = { ...one, color: answered(color, 'red') }
    run.answers[call] = { kind: 'answered', answers: both }
    expect((await run.ended()).usage.toolCalls).toBe(3)
    const limited = setUp(twice, {}, 1)
    const waiting = await limited.parked()
    limited.answers[waiting.call] = { kind: 'answered', answers: one }
    expect(await limited.ended()).toMatchObject({ error: { code: 'lease_tool_calls' } })
    expect(limited.seen).toHaveLength(1)
  })

  it('E6: is not made again if a crash cut it after the answer', async () => {
    const never = new Promise<never>(() => {})
    const run = setUp(async ({ answers }) => (answers ? never : asking({ name })))
    const { call } = await run.parked()
    run.answers[call] = { kind: 'answered', answers: { name: answered(name, 'Ann') } }
    void run.segment() // never ends: the object dies here
    await new Promise((resolve) => setTimeout(resolve, 10))
    const { actions } = await run.ended()
    expect(actions).toMatchObject([{ ok: false, code: 'tool_outcome_unknown' }])
    expect(run.seen).toHaveLength(2)
  })
})
