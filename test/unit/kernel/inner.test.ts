import { describe, expect, it } from 'vitest'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { unlimited, zeroUsage, type Limits, type Usage } from '#contracts/lease.ts'
import type { GateParts } from '#runtime/kernel/types/policy.ts'
import type { Clock } from '#contracts/sources.ts'
import type { InnerCalls, InnerReach, ToolEntry, ToolResult, Toolset } from '#contracts/tool.ts'
import { createRandom } from '../../fakes/random.ts'
import {
  agentSpec,
  createEndingKernel,
  createFakeClock,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  openGates,
  runInput,
  runPorts,
  says,
  sha256,
  toolEntry,
  toolsetOf,
  type Line,
  type MemoryJournal,
} from '../../fakes/kernel.ts'
import { dataOf } from '../../fakes/events.ts'

type Code = (inner: InnerCalls, signal: AbortSignal) => Promise<ToolResult>

interface OuterOptions {
  readonly name?: string
  readonly reach?: readonly ToolEntry[]
  readonly spends?: Partial<Limits>
  readonly model?: InnerReach['model']
  readonly children?: 0 | 1
}

/** A tool whose code begins work of its own. */
function outer(code: Code, options: OuterOptions = {}): ToolEntry {
  const { name = 'p__outer', reach = [], spends, model, children = 0 } = options
  const { resolve } = toolsetOf(reach)
  return toolEntry(name, async (_input, { inner, signal }) => code(inner!, signal), {
    isReadOnly: false,
    spends: { ...defaultAgentLimits, ...spends },
    inner: { resolve, children, ...(model && { model }) },
    record: { plugin: 'p', version: '1.0.0', tier: 'builtin' },
  })
}

interface DriveOptions {
  readonly lines?: readonly Line[]
  readonly limits?: Partial<Limits>
  readonly gates?: Partial<GateParts>
  readonly journal?: MemoryJournal
  readonly clock?: Clock
  readonly signal?: AbortSignal
  readonly estimate?: { tokens: number; costNanoUsd: number }
  readonly requireApproval?: readonly string[]
  /** What else the agent has. */
  readonly beside?: readonly ToolEntry[]
  readonly refuse?: Toolset['refuse']
}

/** A run that calls the tool once and finishes; `lines` is what the model says to the tool's code in between. */
async function drive(entry: ToolEntry, options: DriveOptions = {}) {
  const { lines = [], limits, gates, journal = createMemoryJournal(), signal, estimate } = options
  const script = [{ calls: [{ name: entry.tool.name }] }, ...lines, { text: 'done' }]
  const models = createFakeModel(script, estimate)
  const { requireApproval, clock, beside = [], refuse } = options
  const parts = createKernelParts(models, {
    gates: { ...openGates, ...gates },
    ...(clock && { clock }),
  })
  const result = await createEndingKernel(parts).run(
    runInput({
      agent: agentSpec(limits),
      toolset: { ...toolsetOf([entry, ...beside]), ...(refuse && { refuse }) },
      options: { pauses: 'park', ...(requireApproval && { requireApproval }) },
    }),
    runPorts({ journal, ...(signal && { signal }) }),
  )
  const turns = journal.load()
  const events = turns.flatMap((turn) => turn.events)
  const told = (type: string) => events.filter((event) => event.type === type).map(dataOf)
  return { result, events, told, models, calls: turns.flatMap(({ calls }) => calls) }
}

const spent = (more: Partial<Usage>): Usage => ({ ...zeroUsage, ...more })
const code = (result: ToolResult | undefined) => (result && !result.ok ? result.error.code : 'ok')

it('C5: the own spending of a call counts beside the spending of its inner calls', async () => {
  const entry = outer(async () => ({
    ...says('ran'),
    usage: { ...zeroUsage, costNanoUsd: 2_000_000 },
  }))
  const { result } = await drive(entry)
  expect(result.usage.costNanoUsd).toBe(2_000_000)
})

describe('a tool that another tool calls', () => {
  it('invariant 4: passes every gate under its own name, with an id and events of its own', async () => {
    const asked: string[] = []
    const gates: Partial<GateParts> = {
      validator: { validate: () => (asked.push('schema'), { ok: true }) },
      policy: {
        decide: ({ tool, call }) => (asked.push(`policy ${tool} ${call}`), { allow: true }),
      },
      rates: { take: ({ tool }) => (asked.push(`rate ${tool}`), { allow: true }) },
      hooks: {
        before: async ({ tool }) => (asked.push(`before ${tool}`), { veto: false }),
        after: async ({ tool }, result) => (asked.push(`after ${tool}`), result),
      },
      approvals: { isNeeded: ({ tool }) => (asked.push(`approval ${tool}`), false as const) },
    }
    const clock = toolEntry('clock', async () => says('12:00'))
    const { told, calls, result } = await drive(
      outer(({ callTool }) => callTool('clock', { zone: 'utc' }), { reach: [clock] }),
      { gates },
    )
    const [id] = calls.map((call) => call.id)
    expect(calls).toHaveLength(1)
    expect(calls[0]?.outcome).toMatchObject({ ok: true, output: '12:00' })
    const ofClock = asked.filter((one) => one.includes('clock'))
    expect(ofClock).toEqual([
      `policy clock ${id}.1`,
      'rate clock',
      'before clock',
      'approval clock',
      'after clock',
    ])
    expect(asked.filter((one) => one === 'schema')).toHaveLength(2)
    expect(told('tool_started')[1]).toEqual({
      call: `${id}.1`,
      parent: id,
      tool: 'clock',
      argsHash: sha256('{"zone":"utc"}'),
      inputChars: 14,
      definitionHash: clock.definitionHash,
    })
    expect(told('tool_finished')).toMatchObject([
      { call: `${id}.1`, parent: id, tool: 'clock', ok: true },
      { call: id, tool: 'p__outer', ok: true },
    ])
    expect(result.usage).toMatchObject({ toolCalls: 2, children: 0 })
  })

  it('a tool outside its reach does not exist for it, and input that the schema refuses is not run', async () => {
    let ran = 0
    const strict = toolEntry('strict', async () => (ran++, says('')))
    const answers: string[] = []
    await drive(
      outer(
        async ({ callTool, reaches }) => {
          expect([reaches('strict'), reaches('kv__set')]).toEqual([true, false])
          answers.push(
            code(await callTool('kv__set', {})),
            code(await callTool('strict', { a: 1 })),
          )
          return says('')
        },
        { reach: [strict] },
      ),
      {
        gates: {
          validator: {
            validate: (_schema, value) =>
              Object.keys(Object(value)).length > 0
                ? { ok: false, path: 'a', message: 'is not known' }
                : { ok: true },
          },
        },
      },
    )
    expect(answers).toEqual(['tool_not_found', 'tool_invalid_input'])
    expect(ran).toBe(0)
  })

  it('E1: gets no more than the lease of the call that makes it, and the run goes on', async () => {
    let ran = 0
    const clock = toolEntry('clock', async () => (ran++, says('')))
    const answers: string[] = []
    const { result, told } = await drive(
      outer(
        async ({ callTool }) => {
          for (let at = 0; at < 4; at += 1) answers.push(code(await callTool('clock', {})))
          return says('')
        },
        { reach: [clock], spends: { maxToolCalls: 2 } },
      ),
    )
    expect(answers).toEqual(['ok', 'ok', 'lease_tool_calls', 'lease_tool_calls'])
    expect(ran).toBe(2)
    // What goes on asking fills no log.
    expect(told('lease_refused')).toHaveLength(1)
    expect(result).toMatchObject({ state: 'completed', usage: { toolCalls: 3 } })
  })

  it('E1: a sub-agent below it gets its lease out of this one, and depth counts down', async () => {
    const leases: Limits[] = []
    const child = toolEntry(
      'child__run',
      async (_input, { lease }) => {
        leases.push(lease)
        return { ok: true, output: '', usage: spent({ tokens: 70, turns: 1, modelCalls: 1 }) }
      },
      { spends: { ...defaultAgentLimits, maxTokens: 100 } },
    )
    const answers: string[] = []
    const { result } = await drive(
      outer(
        async ({ callTool }) => {
          for (let at = 0; at < 3; at += 1) answers.push(code(await callTool('child__run', {})))
          return says('')
        },
        { reach: [child], spends: { maxTokens: 140 } },
      ),
      { limits: { maxDepth: 3 } },
    )
    expect(answers).toEqual(['ok', 'ok', 'lease_tokens'])
    expect(leases.map(({ maxTokens }) => maxTokens)).toEqual([100, 70])
    expect(leases.map(({ maxDepth }) => maxDepth)).toEqual([1, 1])
    // Two model calls of the run's own, 110 each.
    expect(result.usage).toMatchObject({
      tokens: 220 + 140,
      children: 2,
      toolCalls: 3,
      modelCalls: 4,
    })
  })

  it('E1: a sub-agent below it that the end of the time kept from beginning has spent nothing', async () => {
    const clock = createFakeClock()
    const began: string[] = []
    const child = toolEntry('child', async () => (began.push('child'), says('done')), {
      spends: { ...defaultAgentLimits, maxTokens: 400 },
    })
    const hooks: GateParts['hooks'] = {
      ...openGates.hooks,
      // The time ends while it is looked at.
      async before({ tool }) {
        if (tool === 'child') await clock.advance(2_000)
        return { veto: false }
      },
    }
    const entry = outer(({ callTool }) => callTool('child', {}), { reach: [child], children: 1 })
    const { result } = await drive(entry, { limits: { maxTimeMs: 1_000 }, gates: { hooks }, clock })
    expect(began).toEqual([])
    expect(result).toMatchObject({ state: 'stopped', error: { code: 'lease_time' } })
    expect(result.usage).toMatchObject({ tokens: 110, toolCalls: 1 })
  })

  it('E1: two that are asked for together get the same', async () => {
    const leases: number[] = []
    const child = toolEntry(
      'child__run',
      async (_input, { lease }) => (leases.push(lease.maxTokens), says('')),
      { spends: defaultAgentLimits },
    )
    await drive(
      outer(
        async ({ callTool }) => {
          await Promise.all([callTool('child__run', {}), callTool('child__run', {})])
          return says('')
        },
        { reach: [child], spends: { maxTokens: 1_000 } },
      ),
    )
    expect(leases).toEqual([500, 500])
  })

  it('Y13: no agent is begun below the deepest level, but a plain tool is', async () => {
    const child = toolEntry('child__run', async () => says(''), { spends: defaultAgentLimits })
    const clock = toolEntry('clock', async () => says(''))
    const answers: string[] = []
    await drive(
      outer(
        async ({ callTool }) => {
          answers.push(code(await callTool('child__run', {})), code(await callTool('clock', {})))
          return says('')
        },
        { reach: [child, clock] },
      ),
      { limits: { maxDepth: 0 } },
    )
    expect(answers).toEqual(['lease_depth', 'ok'])
  })

  it('C8: no tool is called from below itself, even with another in between', async () => {
    const reach: ToolEntry[] = []
    const answers: ToolResult[] = []
    const pass = (name: string, next: string) =>
      outer(
        async ({ callTool }) => {
          const answer = await callTool(next, {})
          answers.push(answer)
          return answer
        },
        { name, reach },
      )
    reach.push(pass('a__go', 'b__go'), pass('b__go', 'a__go'))
    await drive(reach[0]!)
    expect(answers[0]).toMatchObject({
      error: { code: 'tool_denied', message: 'The tool a__go is already at work above this call.' },
    })
  })

  it('that needs a person outside is refused: it cannot wait', async () => {
    const sensitive = toolEntry('sensitive', async () => says('done'), { needsApproval: true })
    const asks = toolEntry('asks', async () => ({
      ok: false,
      error: { code: 'tool_pending', message: '' },
      pause: { kind: 'question', expires: true },
    }))
    const answers: ToolResult[] = []
    const { result } = await drive(
      outer(
        async ({ callTool }) => {
          answers.push(await callTool('sensitive', {}), await callTool('asks', {}))
          return says('')
        },
        { reach: [sensitive, asks] },
      ),
    )
    for (const answer of answers)
      expect(answer).toMatchObject({
        error: { code: 'tool_denied', message: expect.stringContaining('cannot wait') },
      })
    expect(result.state).toBe('completed')
  })

  it('I15: is cancelled with the call that makes it', async () => {
    const stop = new AbortController()
    let isStopped = false
    const hang = toolEntry(
      'hang',
      (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => ((isStopped = true), reject(new Error('stopped'))))
          stop.abort(new Error('The user said stop.'))
        }),
    )
    const { result, told } = await drive(
      outer(({ callTool }) => callTool('hang', {}), { reach: [hang] }),
      { signal: stop.signal },
    )
    expect(isStopped).toBe(true)
    expect(result).toMatchObject({ state: 'cancelled', usage: { toolCalls: 2 } })
    expect(told('tool_finished')[0]).toMatchObject({ tool: 'hang', code: 'tool_cancelled' })
  })

  it('that is not waited for ends with the call, and nothing is called after it', async () => {
    let late: InnerCalls | undefined
    let begin: () => void = () => {}
    const hasBegun = new Promise<void>((resolve) => (begin = resolve))
    const hang = toolEntry(
      'hang',
      (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')))
          begin()
        }),
    )
    const { told, result } = await drive(
      outer(
        async (inner) => {
          late = inner
          void inner.callTool('hang', {})
          await hasBegun
          return says('gone')
        },
        { reach: [hang] },
      ),
    )
    expect(told('tool_finished').map(({ tool, ok }) => [tool, ok])).toEqual([
      ['hang', false],
      ['p__outer', true],
    ])
    expect(code(await late!.callTool('hang', {}))).toBe('tool_cancelled')
    expect(result.usage.toolCalls).toBe(2)
  })

  it('E1: runs beside no more others than the lease allows', async () => {
    let [running, most] = [0, 0]
    const slow = toolEntry('slow', async () => {
      most = Math.max(most, (running += 1))
      await Promise.resolve()
      running -= 1
      return says('')
    })
    await drive(
      outer(
        async ({ callTool }) => {
          await Promise.all(Array.from({ length: 9 }, () => callTool('slow', {})))
          return says('')
        },
        { reach: [slow], spends: { maxConcurrency: 3 } },
      ),
    )
    expect(most).toBe(3)
  })

  it('E1: the spending of inner calls adds up to what the run books, over 100 random calls', async () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = createRandom(seed)
      const bills: Usage[] = []
      const child = toolEntry(
        'child__run',
        async () => {
          const tokens = random.int(0, 400)
          const usage = spent({
            tokens,
            inputTokens: tokens,
            turns: random.int(0, 3),
            toolCalls: random.int(0, 4),
            modelCalls: random.int(0, 3),
            costNanoUsd: random.int(0, 9),
          })
          bills.push(usage)
          return random.chance(0.7)
            ? { ok: true, output: '', usage }
            : { ok: false, error: { code: 'tool_failed', message: 'no' }, usage }
        },
        { spends: { ...defaultAgentLimits, maxTokens: 300 } },
      )
      const clock = toolEntry('clock', async () => says(''))
      const many = random.int(0, 6)
      let plain = 0
      const { result } = await drive(
        outer(
          async ({ callTool }) => {
            const work = Array.from({ length: many }, () => {
              if (random.chance(0.5)) return callTool('child__run', {})
              plain += 1
              return callTool('clock', {})
            })
            await Promise.all(work)
            return says('')
          },
          { reach: [child, clock], spends: { maxTurns: 60 } },
        ),
        { limits: { maxTurns: 100 } },
      )
      const sum = (of: Exclude<keyof Usage, 'platform' | 'platformNanoUsd' | 'unconfirmed'>) =>
        bills.reduce((total, usage) => total + usage[of], 0)
      expect(result.usage).toMatchObject({
        tokens: 220 + sum('tokens'),
        inputTokens: 200 + sum('inputTokens'),
        modelCalls: 2 + sum('modelCalls'),
        turns: 2 + sum('turns'),
        costNanoUsd: sum('costNanoUsd'),
        toolCalls: 1 + plain + bills.length + sum('toolCalls'),
        children: bills.length,
      })
    }
  })

  it('F5, E1: cut by a crash it is not repeated, its outcome is unknown and its whole lease is booked', async () => {
    const journal = createMemoryJournal()
    const crash = new AbortController()
    const hang = toolEntry('hang', () => new Promise(() => {}))
    let began: () => void = () => {}
    const hasBegun = new Promise<void>((resolve) => (began = resolve))
    let runs = 0
    const entry = () =>
      outer(
        async ({ callTool }) => {
          runs += 1
          began()
          return callTool('hang', {})
        },
        { reach: [hang], spends: { maxTokens: 900, maxToolCalls: 5, maxChildren: 2, maxTurns: 3 } },
      )
    void drive(entry(), { journal, signal: crash.signal })
    await hasBegun
    const rows = structuredClone(journal.load())
    const resumed = createMemoryJournal(rows)
    const models = createFakeModel([{ text: 'done' }])
    const result = await createEndingKernel(createKernelParts(models)).run(
      runInput({ agent: agentSpec(), toolset: toolsetOf([entry()]) }),
      runPorts({ journal: resumed }),
    )
    expect(runs).toBe(1)
    const [call] = resumed.load()[0]!.calls
    expect(code(call?.outcome)).toBe('tool_outcome_unknown')
    expect(result.usage).toMatchObject({
      tokens: 220 + 900,
      toolCalls: 1 + 5,
      children: 2,
      turns: 2 + 3,
    })
  })
})

describe("a model that a tool's code asks", () => {
  const prompt = { role: 'user', text: 'hello', taint: ['model'] } as const
  const request = { model: undefined, messages: [prompt], tools: [], parameters: {} }
  const ask: Code = async ({ generate }) => {
    try {
      const { text } = await generate!(request, () => true)
      return says(text)
    } catch (error) {
      const { code: failed, message } = error as { code: string; message: string }
      return { ok: false, error: { code: 'tool_failed', message: `${failed}: ${message}` } }
    }
  }
  const model = { maxTokens: 150, maxCostNanoUsd: unlimited }
  const twice: Code = async (inner, signal) => (await ask(inner, signal), ask(inner, signal))

  it('E1: is leased, on the record with the plugin named, and part of what the call spent', async () => {
    const { result, told, calls } = await drive(outer(ask, { model }), { lines: [{ text: 'hi' }] })
    expect(calls[0]?.outcome).toMatchObject({ ok: true, output: 'hi', usage: { tokens: 110 } })
    expect(told('model_called')[1]).toMatchObject({
      call: calls[0]?.id,
      plugin: 'p',
      provider: 'fake',
      inputTokens: 100,
      outputTokens: 10,
    })
    expect(result.usage).toMatchObject({
      tokens: 330,
      inputTokens: 300,
      modelCalls: 3,
      children: 0,
    })
  })

  it('E1: is refused before it is asked where the grant is used up', async () => {
    const { result, told, models, calls } = await drive(outer(twice, { model }), {
      lines: [{ text: 'hi' }],
    })
    expect(models.requests).toHaveLength(3)
    expect(calls[0]?.outcome).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(/^lease_tokens: .*150 asked, 40 left/) },
    })
    expect(told('lease_refused')).toMatchObject([{ call: calls[0]?.id, code: 'lease_tokens' }])
    expect(result).toMatchObject({ state: 'completed', usage: { tokens: 330 } })
  })

  it('E1: is refused where the lease of its call is used up, whatever was granted', async () => {
    const { models, calls } = await drive(
      outer(ask, {
        model: { maxTokens: 9_000, maxCostNanoUsd: unlimited },
        spends: { maxTokens: 100 },
      }),
    )
    expect(models.requests).toHaveLength(2)
    expect(calls[0]?.outcome).toMatchObject({ ok: false, usage: { tokens: 0 } })
  })

  it('a bill that is higher than its reservation is booked, and nothing more is given', async () => {
    const { result, told, models } = await drive(
      outer(twice, { model: { ...model, maxTokens: 400 } }),
      {
        lines: [{ text: 'hi', inputTokens: 900, outputTokens: 0 }],
      },
    )
    expect(models.requests).toHaveLength(3)
    expect(told('lease_overdrawn')).toMatchObject([{ tokens: 900, reserved: 150 }])
    expect(result.usage.tokens).toBe(220 + 900)
  })

  it('a model that must not be used is not asked', async () => {
    const strict: Code = async ({ generate }) =>
      says(await generate!(request, () => false).then(() => 'asked', String))
    const { models, calls } = await drive(outer(strict, { model }))
    expect(models.requests).toHaveLength(2)
    expect(calls[0]?.outcome).toMatchObject({
      output: expect.stringContaining('No model that may'),
    })
  })

  it('nor may it take over from one that failed', async () => {
    const next = {
      selection: { provider: 'fake', model: 'other', substituted: true },
      estimate: { tokens: 1, costNanoUsd: 0 },
    }
    const allowed: boolean[] = []
    const answers: string[] = []
    const entry = outer(
      async ({ generate }) => {
        for (const may of ['fake', 'other'])
          answers.push(
            await generate!(request, (one) => one.model === 'fake' || one.model === may).then(
              ({ text }) => text,
              String,
            ),
          )
        return says('')
      },
      { model: { ...model, maxTokens: 1_000 } },
    )
    const fake = createFakeModel([
      { calls: [{ name: entry.tool.name }] },
      { text: 'taken over' },
      { text: 'done' },
    ])
    const models: typeof fake = {
      ...fake,
      async generate(asked, options) {
        if (asked.messages === request.messages) {
          options.onSent()
          const mayRetry = options.mayRetry(new Error('busy'), next)
          allowed.push(mayRetry)
          if (!mayRetry) throw new Error('busy')
        }
        return fake.generate(asked, options)
      },
    }
    await createEndingKernel(createKernelParts(models)).run(
      runInput({ toolset: toolsetOf([entry]) }),
      runPorts(),
    )
    expect(allowed).toEqual([false, true])
    expect(answers).toEqual(['Error: busy', 'taken over'])
  })

  it('is not asked once the call is over', async () => {
    let late: InnerCalls | undefined
    const { models } = await drive(outer(async (inner) => ((late = inner), says('')), { model }))
    await expect(late!.generate!(request, () => true)).rejects.toThrow('This call is over.')
    expect(models.requests).toHaveLength(2)
  })

  it('is not there for code that was granted none', async () => {
    const { calls } = await drive(outer(async ({ generate }) => says(String(generate))))
    expect(calls[0]?.outcome).toMatchObject({ output: 'undefined' })
  })
})

describe('code that reaches what the agent reaches', () => {
  const kv = toolEntry('kv__get', async () => says('a'))
  const asks: Code = async ({ callTool, reaches }) => {
    const result = await callTool('kv__get', {})
    return says([reaches('kv__get'), reaches('kv__set'), code(result)].join(' '))
  }
  const entry: ToolEntry = { ...outer(asks), inner: { resolve: 'agent', children: 0 } }

  it('P32: has the tools of the agent that calls it, and no other', async () => {
    const { calls, told } = await drive(entry, { beside: [kv] })
    expect(calls[0]?.outcome).toMatchObject({ output: 'true false ok' })
    expect(told('tool_started')[1]).toMatchObject({ tool: 'kv__get', parent: calls[0]?.id })
  })

  it('is refused a tool that is not what its run knows', async () => {
    const refuse = (_call: string, { tool }: ToolEntry): ToolResult | undefined =>
      tool.name === 'kv__get'
        ? { ok: false, error: { code: 'tool_changed', message: 'It changed.' } }
        : undefined
    const { calls } = await drive(entry, { beside: [kv], refuse })
    expect(calls[0]?.outcome).toMatchObject({ output: 'true false tool_changed' })
  })

  it('cannot call itself', async () => {
    const again: Code = async ({ callTool }) => says(code(await callTool('p__outer', {})))
    const { calls } = await drive({ ...outer(again), inner: { resolve: 'agent', children: 0 } })
    expect(calls[0]?.outcome).toMatchObject({ output: 'tool_denied' })
  })
})
