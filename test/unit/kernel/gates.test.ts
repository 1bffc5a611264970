import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import { labelFrom } from '#contracts/label.ts'
import { unlimited, zeroUsage, type Limits } from '#contracts/lease.ts'
import type { GateParts } from '#runtime/kernel/types/policy.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { argsHashOf, type GatedCall, type TurnScope } from '../../../src/runtime/kernel/call.ts'
import { createDeadlines } from '../../../src/runtime/kernel/deadlines.ts'
import { gates } from '../../../src/runtime/kernel/gates.ts'
import { createLedger } from '../../../src/runtime/kernel/leases/ledger.ts'
import { passGates } from '../../../src/runtime/kernel/pipeline.ts'
import {
  createFakeClock,
  createFakeModel,
  createFakeSources,
  openGates,
  says,
  sha256,
  toolEntry,
  toolsetOf,
} from '../../fakes/kernel.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'

interface Setup {
  readonly entry?: ToolEntry
  readonly parts?: Partial<GateParts>
  readonly limits?: Partial<Limits>
  readonly share?: Partial<Limits>
  readonly signal?: AbortSignal
  readonly timeLeftMs?: number
}

function setUp({ entry, parts, limits, share, signal, timeLeftMs = 60_000 }: Setup = {}) {
  const clock = createFakeClock()
  const all: Limits = { ...defaultAgentLimits, ...limits }
  const ledger = createLedger(all)
  const ran: unknown[] = []
  const tool = entry ?? toolEntry('clock', async (input) => (ran.push(input), says('12:00')))
  const events: { type: string; data: unknown }[] = []
  const scope: TurnScope = {
    parts: { ...openGates, ...parts, clock, sha256, models: createFakeModel([]) },
    toolset: toolsetOf([tool]),
    ledger,
    share: { ...all, ...share },
    timeLeftMs: () => timeLeftMs,
    deadlines: createDeadlines(clock),
    argsHashes: new WeakMap(),
    signal: signal ?? new AbortController().signal,
    answerTo: () => undefined,
    mayAsk: false,
    caller: {
      run: 'run_1',
      session: 'ses_1',
      rootSession: 'ses_1',
      principal: 'operator',
      agent: 'tester',
      trace: 't',
      depth: 0,
      ancestry: ['tester'],
      options: {},
    },
  }
  const call: GatedCall = {
    id: 'call_1',
    name: tool.tool.name,
    input: { a: 1 },
    hasRun: false,
    startedAtMs: 0,
    emit: (event) => void events.push(event),
  }
  return { clock, ledger, scope, call, events, ran }
}

const code = ({ result }: GatedCall) => (result && !result.ok ? result.error.code : 'ok')

describe('the gate pipeline', () => {
  it('N10: has every gate of the design, in its order', () => {
    expect(gates.map(({ name }) => name)).toEqual([
      'known',
      'unchanged',
      'input',
      'policy',
      'rate',
      'beforeToolCall',
      'approval',
      'lease',
      'timeout',
      'execute',
      'outputCap',
      'afterToolCall',
      'settle',
      'event',
    ])
  })

  it('lets a good call through, settles it and reports it once', async () => {
    const { scope, call, ledger, events, ran } = setUp()
    await passGates(call, scope)
    expect(call.result).toMatchObject(says('12:00'))
    expect(ran).toEqual([{ a: 1 }])
    expect(ledger.settled().toolCalls).toBe(1)
    expect(ledger.reserved().toolCalls).toBe(0)
    expect(events.map(({ type }) => type)).toEqual(['tool_finished'])
  })

  it('leaves nothing listening for the end of its run when it is over', async () => {
    const { signal } = new AbortController()
    for (let calls = 0; calls < 3; calls += 1) {
      const { scope, call } = setUp({ signal })
      await passGates(call, scope)
      expect(call.result).toMatchObject(says('12:00'))
    }
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('refuses a tool that the agent does not have', async () => {
    const { scope, call, ran } = setUp()
    await passGates({ ...call, name: 'shell' }, scope)
    const other = { ...call, name: 'shell' }
    await passGates(other, scope)
    expect(code(other)).toBe('tool_not_found')
    expect(ran).toEqual([])
  })

  it('tells a model what its toolset says of a tool that is not there', async () => {
    const { scope, call } = setUp()
    const toolset = { ...scope.toolset, missing: (name: string) => `No "${name}": look elsewhere.` }
    const other = { ...call, name: 'shell' }
    await passGates(other, { ...scope, toolset })
    expect(other).toMatchObject({ result: { error: { message: 'No "shell": look elsewhere.' } } })
  })

  const refusals: [string, Partial<GateParts>, string][] = [
    [
      'input that does not fit the schema',
      { validator: { validate: () => ({ ok: false, path: 'url', message: 'is required' }) } },
      'tool_invalid_input',
    ],
    [
      'a call the policy denies',
      { policy: { decide: () => ({ allow: false, code: 'tool_denied', message: 'no' }) } },
      'tool_denied',
    ],
    [
      'a call over its rate',
      {
        rates: { take: () => ({ allow: false, code: 'tool_rate_limited', message: 'slow down' }) },
      },
      'tool_rate_limited',
    ],
    [
      'a call that a hook vetoes',
      { hooks: { ...openGates.hooks, before: async () => ({ veto: true, message: 'no' }) } },
      'tool_denied',
    ],
    [
      'a call whose hook fails',
      { hooks: { ...openGates.hooks, before: async () => Promise.reject(new Error('broken')) } },
      'tool_denied',
    ],
    [
      'a call that needs an approval where nobody can give one',
      { approvals: { isNeeded: () => ({}) } },
      'tool_denied',
    ],
    [
      'a call whose policy breaks: guards fail closed',
      {
        policy: {
          decide: () => {
            throw new Error('broken')
          },
        },
      },
      'tool_failed',
    ],
  ]
  it.each(refusals)(
    'I18: refuses %s, without running it or leaving anything reserved',
    async (_what, parts, expected) => {
      const { scope, call, ran, ledger, events } = setUp({ parts })
      await passGates(call, scope)
      expect(code(call)).toBe(expected)
      expect(ran).toEqual([])
      expect(call.result).not.toHaveProperty('error.transient')
      expect(ledger.reserved().toolCalls + ledger.settled().toolCalls).toBe(0)
      expect(events.at(-1)).toMatchObject({
        type: 'tool_finished',
        data: { ok: false, code: expected },
      })
    },
  )

  it.each([
    ['url', '"url" is required.'],
    ['', 'The input is required.'],
  ])('I18: names the field that does not fit, or all of the input (%j)', async (path, message) => {
    const validate = () => ({ ok: false, path, message: 'is required' }) as const
    const { scope, call } = setUp({ parts: { validator: { validate } } })
    await passGates(call, scope)
    expect(call.result).toMatchObject({ error: { code: 'tool_invalid_input', message } })
  })

  it.each<[string, string, string]>([
    ['a whole number beyond 2^53', '{"id":9007199254740993}', 'id'],
    ['one below it', '{"id":-9007199254740993}', 'id'],
    ['one in a list', '{"ids":[1,12345678901234567890]}', 'ids[1]'],
    ['one further below', '{"a":{"b":[{"c":18446744073709551615}]}}', 'a.b[0].c'],
    ['one beyond all numbers', '{"amount":1e400}', 'amount'],
  ])('B14: refuses %s by name, since another one would be run', async (_what, json, place) => {
    const input = JSON.parse(json) as JsonObject
    const { scope, call, ran } = setUp()
    const given = { ...call, input }
    await passGates(given, scope)
    expect(ran).toEqual([])
    expect(given).toMatchObject({ result: { error: { code: 'tool_invalid_input' } } })
    expect(JSON.stringify(given)).toContain(place)
  })

  it.each(['{"id":9007199254740991}', '{"a":0.1}', '{"a":-2.5e-3}', '{"id":"9007199254740993"}'])(
    'B14: takes %s',
    async (json) => {
      const { scope, call, ran } = setUp()
      await passGates({ ...call, input: JSON.parse(json) as JsonObject }, scope)
      expect(ran).toEqual([JSON.parse(json)])
    },
  )

  it.each([
    ['{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['{"a":{"x":[{"p":1,"q":2}],"y":0}}', '{"a":{"y":0,"x":[{"q":2,"p":1}]}}'],
    ['{"to":"ann","__proto__":1}', '{"__proto__":1,"to":"ann"}'],
  ])('B14: %s and %s have one hash of arguments', (one, other) => {
    const { scope } = setUp()
    const hashOf = (json: string) => argsHashOf(JSON.parse(json) as JsonObject, scope)
    expect(hashOf(one)).toBe(hashOf(other))
    expect(hashOf('{"a":[1,2]}')).not.toBe(hashOf('{"a":[2,1]}'))
  })

  it('H: a refusal that may quote the schema of a tool that no person has read is a stranger’s text', async () => {
    const validate = () => ({ ok: false, path: 'to', message: 'must be "ann"' }) as const
    const { scope, call } = setUp({ parts: { validator: { validate } } })
    await passGates(call, scope)
    expect(call.result).not.toMatchObject({ label: expect.anything() as unknown })
    const other = setUp({ parts: { validator: { validate } } })
    const toldLabel = labelFrom('x__say', { confidentiality: 'public' })
    const { toolset } = other.scope
    const told = {
      ...toolset,
      resolve: (...asked: Parameters<typeof toolset.resolve>) => {
        const found = toolset.resolve(...asked)
        return found && { ...found, entry: { ...found.entry, toldLabel } }
      },
    }
    await passGates(other.call, { ...other.scope, toolset: told })
    expect(other.call.result).toMatchObject({ label: toldLabel })
  })

  it('I18: checks schema and policy again when a hook changed the input', async () => {
    const seen: unknown[] = []
    const { scope, call, ran } = setUp({
      parts: {
        hooks: { ...openGates.hooks, before: async () => ({ veto: false, input: { a: 2 } }) },
        policy: { decide: ({ input }) => (seen.push(input), { allow: true }) },
      },
    })
    await passGates(call, scope)
    expect(seen).toEqual([{ a: 1 }, { a: 2 }])
    expect(ran).toEqual([{ a: 2 }])
  })

  it('N6: ends a tool that does not answer in time, and tells it to stop', async () => {
    let stopped = false
    const entry = toolEntry(
      'clock',
      (_input, { signal }) => {
        signal.addEventListener('abort', () => (stopped = true))
        return new Promise(() => {})
      },
      { timeoutMs: 500 },
    )
    const { scope, call, clock } = setUp({ entry })
    const passing = passGates(call, scope)
    await clock.advance(1)
    await clock.advance(500)
    await clock.advance(1_000)
    await passing
    // What came too late may come in time when it is tried again.
    expect(call.result).toMatchObject({ error: { code: 'tool_timeout', transient: true } })
    expect(stopped).toBe(true)
  })

  it('N6: gives no tool more time than the run has left', async () => {
    const { scope, call } = setUp({ timeLeftMs: 0 })
    await passGates(call, scope)
    expect(call.refused).toBe('lease_time')
  })

  it('cancels a call in the object it runs in, and keeps what it says it has spent', async () => {
    const controller = new AbortController()
    const usage = {
      tokens: 7,
      costNanoUsd: 0,
      turns: 1,
      toolCalls: 0,
      children: 0,
      inputTokens: 5,
      outputTokens: 2,
      modelCalls: 1,
      timeMs: 1,
    }
    const entry = toolEntry(
      'clock',
      (_input, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () =>
            resolve({ ok: false, error: { code: 'tool_failed', message: 'stopped' }, usage }),
          ),
        ),
      { spends: defaultAgentLimits },
    )
    const { scope, call, ledger, clock } = setUp({
      entry,
      signal: controller.signal,
      share: { maxTurns: 5, maxTokens: 100, maxChildren: 2, maxToolCalls: 2, maxDepth: 1 },
    })
    const passing = passGates(call, scope)
    await clock.advance(1)
    controller.abort(new Error('stop'))
    await passing
    expect(code(call)).toBe('tool_cancelled')
    expect(ledger.settled()).toEqual({
      tokens: 7,
      costNanoUsd: 0,
      turns: 1,
      toolCalls: 1,
      children: 1,
    })
    expect(ledger.reserved().tokens).toBe(0)
  })

  it('E1, E3: reserves the fee of a call, books what its usage has of it and gives the rest back', async () => {
    const fee = 2_000_000
    for (const costNanoUsd of [0, fee]) {
      const usage = { ...zeroUsage, costNanoUsd }
      const seen: number[] = []
      const entry = toolEntry(
        'clock',
        async () => {
          seen.push(ledger.reserved().costNanoUsd)
          return { ...says('12:00'), usage }
        },
        { feeNanoUsd: fee },
      )
      const { scope, call, ledger } = setUp({ entry, limits: { maxCostNanoUsd: 3 * fee } })
      await passGates(call, scope)
      expect(seen).toEqual([fee])
      expect(ledger.settled()).toMatchObject({ costNanoUsd, toolCalls: 1 })
      expect(ledger.reserved().costNanoUsd).toBe(0)
    }
  })

  it('charges a spending call that never said what it spent with its whole lease', async () => {
    const entry = toolEntry(
      'clock',
      async () => {
        throw new Error('gone')
      },
      { spends: defaultAgentLimits },
    )
    const { scope, call, ledger } = setUp({
      entry,
      share: {
        maxTurns: 5,
        maxTokens: 100,
        maxChildren: 2,
        maxToolCalls: 2,
        maxDepth: 1,
        maxCostNanoUsd: unlimited,
      },
    })
    await passGates(call, scope)
    expect(code(call)).toBe('tool_failed')
    expect(ledger.settled()).toEqual({
      tokens: 100,
      costNanoUsd: 0,
      turns: 5,
      toolCalls: 3,
      children: 3,
    })
  })

  it.each([
    ['depth', { maxDepth: -1 }, 'lease_depth'],
    ['tokens', { maxTokens: 0 }, 'lease_tokens'],
    ['turns', { maxTurns: 0 }, 'lease_turns'],
  ])('N6: refuses a spending call for which no %s is left', async (_what, share, expected) => {
    const entry = toolEntry('clock', async () => says('never'), { spends: defaultAgentLimits })
    const { scope, call } = setUp({ entry, share })
    await passGates(call, scope)
    expect(call.refused).toBe(expected)
  })

  it.each([
    [true, 'lease_tool_calls', false],
    [undefined, undefined, true],
  ])(
    'N6: begins no agent that works with tools where none could be called (%s)',
    async (callsTools, refused, isBegun) => {
      let hasBegun = false
      const begin = async () => ((hasBegun = true), says('done'))
      const more = { spends: defaultAgentLimits, ...(callsTools && { callsTools }) }
      const share = { maxTurns: 5, maxTokens: 100, maxChildren: 2, maxToolCalls: 0, maxDepth: 1 }
      const { scope, call } = setUp({ entry: toolEntry('clock', begin, more), share })
      await passGates(call, scope)
      expect([call.refused, hasBegun]).toEqual([refused, isBegun])
    },
  )

  it('keeps an output that is too long behind a handle', async () => {
    const entry = toolEntry('clock', async () => says('x'.repeat(2_000)))
    const { scope, call } = setUp({ entry })
    await passGates(call, scope)
    expect(call.result).toMatchObject({ ok: true, output: { handle: 'kept' } })
  })

  it('holds a result back that could not be kept whole: the gates after a tool fail closed too', async () => {
    const entry = toolEntry('clock', async () => says('x'.repeat(2_000)))
    const outputs = { maxChars: 1_000, keep: () => Promise.reject(new Error('full')) }
    const { scope, call } = setUp({ entry, parts: { outputs } })
    await passGates(call, scope)
    expect(code(call)).toBe('tool_failed')
  })

  it('N7: reports every call in the same shape, with what the host wants on the record copied as it is', async () => {
    const one = setUp({
      entry: toolEntry('clock', async () => says('1'), {
        record: { plugin: 'a', tier: 'builtin' },
      }),
    })
    const two = setUp({
      entry: toolEntry('clock', async () => says('2'), {
        record: { plugin: 'b', tier: 'community' },
        spends: defaultAgentLimits,
      }),
      share: { maxTurns: 5, maxTokens: 100, maxChildren: 2, maxToolCalls: 2, maxDepth: 1 },
    })
    await passGates(one.call, one.scope)
    await passGates(two.call, two.scope)
    expect(Object.keys(one.events[0]!.data as object)).toEqual(
      Object.keys(two.events[0]!.data as object),
    )
    expect(one.events[0]!.data).toMatchObject({ plugin: 'a', tier: 'builtin' })
  })
})

describe('a call under another name than its tool has', () => {
  it('N7: is on the record under that of the tool', async () => {
    const { scope, call, events } = setUp()
    const resolve: typeof scope.toolset.resolve = (_name, input) =>
      scope.toolset.resolve('clock', input)
    const other = { ...call, name: 'isola__call' }
    await passGates(other, { ...scope, toolset: { ...scope.toolset, resolve } })
    expect(events).toMatchObject([{ type: 'tool_finished', data: { tool: 'clock', ok: true } }])
  })

  it('N7: is on the record under its own where there is no such tool', async () => {
    const { scope, call, events } = setUp()
    await passGates({ ...call, name: 'shell' }, scope)
    expect(events).toMatchObject([{ type: 'tool_finished', data: { tool: 'shell', ok: false } }])
  })
})

describe('sources', () => {
  it('I19: counts ids instead of drawing them', () => {
    const { ids } = createFakeSources()
    expect([ids.next('run'), ids.next('run')].map((id) => id.slice(-1))).toEqual(['1', '2'])
  })
})
