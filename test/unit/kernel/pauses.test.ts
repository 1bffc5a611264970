import { describe, expect, it } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import type { Parked } from '#runtime/kernel/types/kernel.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { zeroUsage, type Limits } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { PauseAnswer } from '#runtime/kernel/types/pause.ts'
import type { ApprovalSubject } from '#runtime/kernel/types/policy.ts'
import type { PauseMode } from '#contracts/run-options.ts'
import type { ToolEntry, ToolResult } from '#contracts/tool.ts'
import { toTurnSaid } from '#runtime/kernel/types/turn-said.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import {
  agentSpec,
  createFakeModel,
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
import { dataOf } from '../../fakes/events.ts'

const pending: ToolResult = {
  ok: false,
  error: { code: 'tool_pending', message: 'later' },
  pause: { kind: 'question', expires: true },
}

/** One run over several segments, each a fresh kernel over the same journal: nothing else survives. */
function setUp(
  entries: readonly ToolEntry[],
  script: Script,
  more: {
    readonly requireApproval?: readonly string[]
    readonly limits?: Partial<Limits>
    readonly gates?: Partial<typeof openGates>
  } = {},
) {
  const journal = createMemoryJournal()
  const answers: Record<string, PauseAnswer> = {}
  const inbox: Message[] = []
  const model = createFakeModel(script)
  let seq = 0
  const { requireApproval = [], limits, gates } = more
  const segment = (pauses: PauseMode = 'park'): Promise<AgentResult | Parked> =>
    createKernel(createKernelParts(model, { gates: { ...openGates, ...gates } })).run(
      runInput({
        options: { pauses, requireApproval },
        agent: agentSpec(limits),
        toolset: toolsetOf(entries),
      }),
      runPorts({
        journal,
        nextSeq: () => (seq += 1),
        answerTo: (call) => answers[call],
        received: (from) => inbox.slice(from),
      }),
    )
  const parked = async (): Promise<Parked> => {
    const outcome = await segment()
    if (outcome.state !== 'parked') throw new Error(`not parked but ${outcome.state}`)
    return outcome
  }
  const ended = async (): Promise<AgentResult> => {
    const outcome = await segment()
    if (outcome.state === 'parked') throw new Error('parked')
    return outcome
  }
  const approve = ({ pauses }: Parked) => {
    for (const { call, argsHash, definitionHash } of pauses) {
      answers[call] = { kind: 'approved', argsHash, definitionHash }
    }
  }
  return { journal, answers, inbox, model, segment, parked, ended, approve }
}

const callsThenEnd =
  (...names: string[]): Script =>
  (_request, index) =>
    index === 0 ? { calls: names.map((name) => ({ name, input: { a: 1 } })) } : { text: 'done' }

describe('a call that waits for a person outside', () => {
  it('E6: has its intent on record, without the pause, before it begins', async () => {
    const seen: unknown[] = []
    const mail = toolEntry(
      'mail',
      async () => (seen.push(structuredClone(run.journal.load()[0]!.calls)), says('sent')),
      { isReadOnly: false },
    )
    const run = setUp([mail], callsThenEnd('mail'), { requireApproval: ['mail'] })
    run.approve(await run.parked())
    expect((await run.ended()).state).toBe('completed')
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject([{ name: 'mail' }])
    expect(seen[0]).not.toHaveProperty('0.pause')
  })

  it('C7: is asked about with what it may cost at most', async () => {
    const amounts: unknown[] = []
    const isNeeded = ({ amount }: ApprovalSubject) => {
      amounts.push(amount)
      return false as const
    }
    const mail = toolEntry('mail', async () => says('sent'))
    const paid = toolEntry('paid', async () => says('bought'), { feeNanoUsd: 5_000 })
    const helper = toolEntry('helper', async () => says('helped'), {
      spends: { ...defaultAgentLimits, maxTokens: 700, maxCostNanoUsd: 9_000 },
    })
    const script = callsThenEnd('mail', 'paid', 'helper')
    const run = setUp([mail, paid, helper], script, { gates: { approvals: { isNeeded } } })
    await run.ended()
    expect(amounts).toMatchObject([
      { tokens: 0, costNanoUsd: 0 },
      { tokens: 0, costNanoUsd: 5_000 },
      { tokens: 700, costNanoUsd: 9_000 },
    ])
  })

  it('E6: an attempt spends its approval: an attempt that a crash cut is not made again', async () => {
    const never = new Promise<never>(() => {})
    let count = 0
    const mail = toolEntry('mail', () => ((count += 1), never), { isReadOnly: false })
    const run = setUp([mail], callsThenEnd('mail'), { requireApproval: ['*'] })
    run.approve(await run.parked())
    void run.segment() // never ends: the object dies here
    await new Promise((resolve) => setTimeout(resolve, 10))
    const { actions } = await run.ended()
    expect(count).toBe(1)
    expect(actions).toMatchObject([{ ok: false, code: 'tool_outcome_unknown' }])
  })

  it('shows why an approval is asked for, tells the tool that it was given, and says so where no person can be asked', async () => {
    const approvals = { isNeeded: () => ({ about: 'GET at evil.example' }) }
    const leave: unknown[] = []
    const tool = toolEntry(
      'read',
      async (_input, { isApproved }) => (leave.push(isApproved), says('ok')),
    )
    const run = setUp([tool], callsThenEnd('read'), { gates: { approvals } })
    const waiting = await run.parked()
    expect(waiting.pauses).toMatchObject([{ kind: 'approval', about: 'GET at evil.example' }])
    run.approve(waiting)
    expect((await run.ended()).state).toBe('completed')
    expect(leave).toEqual([true])
    const alone = setUp([tool], callsThenEnd('read'), { gates: { approvals } })
    await alone.segment('refuse')
    const heard = JSON.stringify(alone.model.requests.at(-1)?.messages)
    expect(heard).toContain('cannot be asked')
    expect(heard).toContain('GET at evil.example')
    expect(leave).toHaveLength(1)
  })

  it('N7: has on record what it waits for, what was answered and by whom', async () => {
    const mail = toolEntry('mail', async () => says('sent'))
    const ask = toolEntry('ask', async () => pending)
    const run = setUp([mail, ask], callsThenEnd('mail', 'ask', 'ask'), {
      requireApproval: ['mail'],
    })
    const waiting = await run.parked()
    const told = (type: string) =>
      run.journal
        .load()
        .flatMap(({ events }) => events)
        .filter((event) => event.type === type)
        .map(dataOf)
    const [approval, question, failing] = waiting.pauses
    expect(told('run_parked')).toMatchObject([
      {
        pauses: [
          { call: approval!.call, tool: 'mail', kind: 'approval' },
          { call: question!.call, tool: 'ask', kind: 'question' },
          { call: failing!.call, tool: 'ask', kind: 'question' },
        ],
      },
    ])
    run.approve({ ...waiting, pauses: [approval!] })
    const decidedBy = { principal: 'ada', role: 'operator', via: 'inbox' } as const
    const by = { by: 'ada', decidedBy }
    const gone: ToolResult = { ok: false, error: { code: 'tool_denied', message: 'no' } }
    run.answers[approval!.call] = { ...run.answers[approval!.call]!, ...by }
    run.answers[question!.call] = { kind: 'outcome', result: says('yes') }
    run.answers[failing!.call] = { kind: 'outcome', result: gone }
    await run.ended()
    expect(told('pause_answered')).toMatchObject([
      { call: approval!.call, tool: 'mail', kind: 'approval', answer: 'approved', ...by },
      { call: question!.call, tool: 'ask', kind: 'question', answer: 'answered' },
      { call: failing!.call, tool: 'ask', kind: 'question', answer: 'tool_denied' },
    ])
  })

  it('E6: waits again if a hook has changed what was approved', async () => {
    let version = 0
    const hooks = {
      ...openGates.hooks,
      before: async () => ({ veto: false as const, input: { a: (version += 1) } }),
    }
    const ran: unknown[] = []
    const mail = toolEntry('mail', async (input) => (ran.push(input), says('sent')))
    const run = setUp([mail], callsThenEnd('mail'), { requireApproval: ['mail'], gates: { hooks } })
    const first = await run.parked()
    run.approve(first)
    const second = await run.parked()
    expect(second.pauses[0]!.argsHash).not.toBe(first.pauses[0]!.argsHash)
    expect(ran).toEqual([])
  })

  it('settles its siblings first, and goes on with one answer while it waits for another', async () => {
    const done: string[] = []
    const tool = (name: string) => toolEntry(name, async () => (done.push(name), says(name)))
    const run = setUp([tool('a'), tool('b'), tool('c')], callsThenEnd('a', 'b', 'c'), {
      requireApproval: ['a', 'b'],
    })
    const first = await run.parked()
    expect(first.pauses.map(({ tool: name }) => name)).toEqual(['a', 'b'])
    expect(done).toEqual(['c'])
    run.approve({ ...first, pauses: first.pauses.slice(1) })
    const second = await run.parked()
    expect(second.pauses.map(({ tool: name }) => name)).toEqual(['a'])
    expect(done).toEqual(['c', 'b'])
    run.approve(second)
    const result = await run.ended()
    expect(done).toEqual(['c', 'b', 'a'])
    expect(result.usage.toolCalls).toBe(3)
    expect(run.model.requests).toHaveLength(2)
  })

  it('E1: holds what it may spend while it waits, and gives back what it did not use', async () => {
    const child = toolEntry('child', async () => pending, {
      isReadOnly: false,
      isIdempotent: true,
      spends: { ...agentSpec().limits, maxTokens: 5_000 },
    })
    const run = setUp([child], callsThenEnd('child'), { limits: { maxTokens: 20_000 } })
    const { pauses } = await run.parked()
    const [call] = run.journal.load()[0]!.calls
    expect(call?.reserved?.tokens).toBe(5_000)
    const usage = { ...zeroUsage, tokens: 700, toolCalls: 2, modelCalls: 3 }
    run.answers[pauses[0]!.call] = { kind: 'outcome', result: { ...says('ok'), usage } }
    const result = await run.ended()
    // Two model calls of its own at 110, and the child's.
    expect(result.usage).toMatchObject({ tokens: 920, toolCalls: 3, children: 1, modelCalls: 5 })
  })

  it('E1: a call that is taken up again reserves what it had, whatever was spent meanwhile', async () => {
    const leases: number[] = []
    const never = new Promise<never>(() => {})
    const child = toolEntry(
      'child',
      async (_input, { lease }) => (
        leases.push(lease.maxTokens),
        leases.length < 3 ? never : says('ok')
      ),
      { isReadOnly: false, isIdempotent: true, spends: agentSpec().limits },
    )
    const quick = toolEntry('quick', async () => says('ok'))
    const run = setUp([child, quick], callsThenEnd('child', 'quick'))
    for (let wake = 0; wake < 2; wake += 1) {
      void run.segment()
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await run.ended()
    expect(new Set(leases).size).toBe(1)
  })

  it('fails, and says so, where no person can be asked', async () => {
    const run = setUp([toolEntry('ask', async () => pending)], callsThenEnd('ask'))
    const outcome = await run.segment('refuse')
    expect(outcome.state).toBe('completed')
    expect(run.journal.load()[0]!.calls[0]!.outcome).toMatchObject({
      ok: false,
      error: { code: 'tool_denied' },
    })
  })
})

describe('a message that comes while a run works', () => {
  it('is in the next prompt, in the transcript where it was heard, and before the run may end', async () => {
    const run = setUp([], (_request, index) => ({ text: `answer ${index}` }))
    run.inbox.push({ role: 'user', text: 'early', taint: ['user'] })
    await run.ended()
    expect(run.model.requests[0]!.messages.at(-1)).toMatchObject({ text: 'early' })
    const [turn] = run.journal.load()
    expect(toTurnSaid(turn!).messages).toMatchObject([{ text: 'early' }, { text: 'answer 0' }])
  })

  it('does not let a run end that has not heard it', async () => {
    const run = setUp([], (_request, index) => {
      if (index === 0) run.inbox.push({ role: 'user', text: 'wait', taint: ['user'] })
      return { text: `answer ${index}` }
    })
    const { result } = await run.ended()
    expect(result).toBe('answer 1')
    expect(run.model.requests).toHaveLength(2)
  })
})
