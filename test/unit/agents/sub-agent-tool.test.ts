import { describe, expect, test } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import { IsolaError } from '#contracts/errors.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { zeroUsage } from '#contracts/lease.ts'
import { parseManifest } from '../../../src/runtime/catalog/types/permit.ts'
import { joinLabels, labelFrom, saidLabel } from '#contracts/label.ts'
import type { SubAgentStopped } from '#runtime/kernel/types/policy.ts'
import type { SessionApi } from '#runtime/session/types/session-api.ts'
import type { SubmitRequest } from '#runtime/session/types/submission.ts'
import { createSubAgentEntry } from '../../../src/features/agents/sub-agent-tool.ts'
import { createManualClock } from '../../fakes/manual-clock.ts'
import { createFakeGateway, submitAsTo } from '../../fakes/session-gateway.ts'
import { createToolContext } from '../../fakes/tool-context.ts'

const usage = {
  ...zeroUsage,
  tokens: 30,
  inputTokens: 20,
  outputTokens: 10,
  turns: 1,
  modelCalls: 1,
}
const child = 'child(ses_root,run_1,call_1)'

function resultOf(overrides: Partial<AgentResult> = {}): AgentResult {
  return {
    id: 'run_c',
    success: true,
    state: 'completed',
    result: 'All good.',
    startedAtMs: 0,
    finishedAtMs: 1,
    sessionId: child,
    agent: 'rev',
    trace: 't',
    steps: 1,
    actions: [],
    modelCalls: [],
    usage,
    costEstimateUsd: 0.01,
    provenance: { template: 'p', version: '1', models: [] },
    ...overrides,
  }
}

function setUp(
  run: SessionApi['run'],
  api: Partial<SessionApi> = {},
  { onStopped, shares = [] }: { onStopped?: SubAgentStopped; shares?: readonly string[] } = {},
) {
  const manifest = parseManifest({
    id: 'rev',
    name: 'Reviewer',
    version: '1.0.0',
    description: 'Reviews.',
    natural_language_description: 'DO NOT USE for poems.\n',
    agent: {
      integration_mode: 'tool',
      model: 'm',
      instructions: 'p.md',
      limits: { max_turns: 3 },
      shares,
    },
  })
  const clock = createManualClock()
  const sessions = createFakeGateway({ run, ...api })
  const entry = createSubAgentEntry({
    manifest,
    agent: manifest.agent!,
    hash: 'abc',
    tier: 'builtin',
    sessions,
    submitAs: submitAsTo(sessions),
    clock,
    onStopped,
  })
  return { entry, clock, call: entry.tool.execute }
}
const answering = (result: AgentResult) => setUp(async () => ({ ok: true, value: result }))

const never: SessionApi['run'] = () => new Promise(() => {})

/** A call that the platform broke, as the gateway reports it. */
const broken = (message: string, transient = true) =>
  new IsolaError('request_unavailable', message, { transient })

describe('a sub-agent as a tool', () => {
  test('does not work in the background for a call that another tool makes', async () => {
    const { call } = answering(resultOf())
    const result = await call(
      { task: 'x', background: true },
      createToolContext({ call: 'call_1.1', parent: 'call_1' }),
    )
    expect(result).toMatchObject({ ok: false, error: { code: 'tool_denied' }, usage: zeroUsage })
  })

  test.each([
    ['note', undefined],
    ['run', 'run'],
  ])('I10: tells its child what is to become of the outcome (%s)', async (onOutcome, told) => {
    let asked: SubmitRequest | undefined
    const { call } = setUp(never, {
      async submit(_session, request) {
        asked = request
        const receipt = { session: child, run: 'run_c', isJoined: false, createdAtMs: 0 }
        return { ok: true, value: { ...receipt, state: 'running' } }
      },
    })
    const input = { task: 'x', background: true, onOutcome }
    expect(await call(input, createToolContext())).toMatchObject({ ok: true })
    expect(asked?.lineage?.onOutcome).toBe(told)
  })

  test.each([
    ['nothing that it does not declare', [], {}, {}],
    ['what it declares, where its caller has it', ['workspace'], {}, { workspace: 'ses_root' }],
    [
      'what its caller has from above, and the rest of the caller alone',
      ['workspace', 'memory'],
      { workspace: 'ses_above', storage: 'ses_above' },
      { workspace: 'ses_above', memory: 'ses_root' },
    ],
  ])('N5: shares %s', async (_what, shares, shared, told) => {
    let asked: SubmitRequest | undefined
    const run: SessionApi['run'] = async (_session, request) => {
      asked = request
      return { ok: true, value: resultOf() }
    }
    await setUp(run, {}, { shares }).call({ task: 'x' }, createToolContext({ shared }))
    expect(asked?.lineage?.shared).toEqual(told)
  })

  test.each([
    ['without "background"', { onOutcome: 'run' }, 0, 'tool_invalid_input'],
    ['below another agent', { onOutcome: 'run', background: true }, 1, 'tool_denied'],
  ])('begins no run with its outcome %s', async (_where, more, depth, code) => {
    const { call } = answering(resultOf())
    const result = await call({ task: 'x', ...more }, createToolContext({ depth }))
    expect(result).toMatchObject({ ok: false, error: { code }, usage: zeroUsage })
  })

  test('N1: looks like any tool; its description routes, its limits are what it spends', () => {
    const { entry } = answering(resultOf())
    expect(entry).toMatchObject({
      tool: {
        name: 'rev__run',
        description: 'Reviews.\nDO NOT USE for poems.',
        inputSchema: { required: ['task'], additionalProperties: false },
      },
      isIdempotent: true,
      isReadOnly: false,
      spends: { ...defaultAgentLimits, maxTurns: 3 },
      timeoutMs: 125_000,
      definitionHash: 'abc:rev__run',
      record: { plugin: 'rev', version: '1.0.0', tier: 'builtin' },
    })
  })

  test('N7: the child is told what came in with the trace, not whose span it was', async () => {
    const submissions: SubmitRequest[] = []
    const { call } = setUp(
      async (_session, submission) => (
        submissions.push(submission),
        { ok: true, value: resultOf() }
      ),
    )
    const traceLink = { span: 'b7ad6b7169203331', isSampled: false, state: 'vendor=a' }
    await call({ task: 'Review a.ts' }, createToolContext({ traceLink }))
    expect(submissions[0]?.traceLink).toEqual({ isSampled: false, state: 'vendor=a' })
  })

  test('Y8, T22: the child gets task and context, never the history, within the lease and with the label of this call', async () => {
    const submissions: [string, SubmitRequest][] = []
    const { call } = setUp(
      async (session, submission) => (
        submissions.push([session, submission]),
        { ok: true, value: resultOf() }
      ),
    )
    const lease = { ...defaultAgentLimits, maxTurns: 2 }
    const read = labelFrom('http__get news.example', { confidentiality: 'public' })
    await call(
      { task: 'Review a.ts', context: 'let a' },
      createToolContext({
        lease,
        label: read,
        depth: 1,
        session: 'ses_mid',
        ancestry: ['orchestrator', 'lead'],
      }),
    )
    const [session, submission] = submissions[0]!
    expect(session).toBe('child(ses_mid,run_1,call_1)')
    expect(submission).toEqual({
      agent: 'rev',
      protocol: 1,
      pauses: 'refuse',
      principal: 'operator',
      trace: '0123456789abcdef0123456789abcdef',
      idempotencyKey: 'call_1',
      messages: [
        {
          role: 'user',
          text: expect.stringMatching(
            /^Review a\.ts\n\n--- Context .*not instructions ---\nlet a\n--- End of context ---$/,
          ) as string,
          taint: ['model'],
          label: read,
        },
      ],
      lineage: {
        rootSession: 'ses_root',
        shared: {},
        parentSession: 'ses_mid',
        parentRun: 'run_1',
        parentCall: 'call_1',
        depth: 2,
        ancestry: ['orchestrator', 'lead'],
        lease,
      },
    })
    expect(structuredClone(submission)).toEqual(submission)
  })

  test('a task without context is the message as it is', async () => {
    let text = ''
    await setUp(
      async (_session, { messages }) => (
        (text = (messages[0] as { text: string }).text),
        { ok: true, value: resultOf() }
      ),
    ).call({ task: 'Do.' }, createToolContext())
    expect(text).toBe('Do.')
  })

  test('C8: success answers the text with the usage of the child, and the events say so', async () => {
    const context = createToolContext()
    expect(await answering(resultOf()).call({ task: 't' }, context)).toEqual({
      ok: true,
      output: 'All good.',
      taint: ['tool:rev__run'],
      label: labelFrom('rev__run'),
      usage,
    })
    expect(context.events).toEqual([
      { type: 'agent_invoked', data: { agent: 'rev', session: child, call: 'call_1' } },
      {
        type: 'agent_result',
        data: {
          agent: 'rev',
          session: child,
          call: 'call_1',
          state: 'completed',
          usage,
          costEstimateUsd: 0.01,
        },
      },
    ])
  })

  test('structured output comes before text', async () => {
    expect(
      await answering(resultOf({ output: { score: 1 } })).call({ task: 't' }, createToolContext()),
    ).toMatchObject({ ok: true, output: { score: 1 } })
  })

  test('Y27: a stopped child is a failed call that keeps what was done and what it cost', async () => {
    const stopped = resultOf({
      success: false,
      state: 'stopped',
      result: 'Two findings so far.',
      error: { code: 'lease_turns', message: 'No turns are left.' },
    })
    expect(await answering(stopped).call({ task: 't' }, createToolContext())).toEqual({
      ok: false,
      error: {
        code: 'lease_turns',
        message:
          'The agent rev ended as stopped (lease_turns: No turns are left.). What it had until then:\nTwo findings so far.',
      },
      label: labelFrom('rev__run'),
      usage,
    })
  })

  test('a refused submission is a failed call and an event', async () => {
    const context = createToolContext()
    const { call } = setUp(async () => ({
      ok: false,
      error: { code: 'request_conflict', message: 'Another agent is there.' },
    }))
    expect(await call({ task: 't' }, context)).toMatchObject({
      ok: false,
      error: { code: 'tool_failed' },
    })
    expect(context.events.at(-1)).toMatchObject({
      type: 'agent_error',
      data: { code: 'request_conflict' },
    })
  })

  test.each([[['orchestrator', 'rev']], [['orchestrator', 'rev', 'other']]])(
    'C8: the ancestry %j forbids A → B → A',
    async (ancestry) => {
      const context = createToolContext({ ancestry })
      expect(
        await setUp(async () => {
          throw new Error('must not run')
        }).call({ task: 't' }, context),
      ).toMatchObject({ ok: false, error: { code: 'tool_denied' } })
      expect(context.events).toEqual([])
    },
  )
})

describe('a broken connection', () => {
  test('is taken up again with the same key, at most three times', async () => {
    const keys: (string | undefined)[] = []
    const { call, clock } = setUp(async (session, { idempotencyKey }) => {
      keys.push(`${session}/${idempotencyKey}`)
      if (keys.length < 4) throw broken('reset')
      return { ok: true, value: resultOf() }
    })
    expect(await call({ task: 't' }, createToolContext())).toMatchObject({ ok: true })
    expect(new Set(keys)).toEqual(new Set([`${child}/call_1`]))
    expect(keys).toHaveLength(4)
    expect(clock.slept).toEqual([200, 400, 800])
  })

  test.each([broken('overloaded', false), new TypeError('a bug')])(
    'F30: is left alone where there is too much to do already, and a bug is not repeated',
    async (fault) => {
      let asked = 0
      const { call } = setUp(async () => {
        asked += 1
        throw fault
      })
      const error = { code: 'tool_outcome_unknown' }
      expect(await call({ task: 't' }, createToolContext())).toMatchObject({ ok: false, error })
      expect(asked).toBe(1)
    },
  )

  test('that stays broken is an unknown outcome, with an event', async () => {
    const context = createToolContext()
    const { call } = setUp(async () => {
      throw broken('gone')
    })
    expect(await call({ task: 't' }, context)).toMatchObject({
      ok: false,
      error: { code: 'tool_outcome_unknown' },
    })
    expect(context.events.map(({ type }) => type)).toEqual(['agent_invoked', 'agent_error'])
  })
})

describe('cancel', () => {
  test('an abort cancels the child once, by its call, and its usage still settles', async () => {
    const controller = new AbortController()
    const cancels: unknown[] = []
    let finish: (reply: Awaited<ReturnType<SessionApi['run']>>) => void = () => {}
    const { call } = setUp(
      () => {
        queueMicrotask(() => controller.abort(new IsolaError('lease_time', 'Time is up.')))
        return new Promise((resolve) => (finish = resolve))
      },
      {
        cancelCall: async (...args) => {
          cancels.push(args)
          finish({
            ok: true,
            value: resultOf({
              success: false,
              state: 'cancelled',
              result: '',
              error: { code: 'cancelled', message: 'Time is up.' },
            }),
          })
        },
      },
    )
    const result = await call({ task: 't' }, createToolContext({ signal: controller.signal }))
    expect(cancels).toEqual([['run_1', 'call_1', 'Time is up.']])
    expect(result).toMatchObject({ ok: false, usage })
  })

  test('a call that was aborted before it began starts nothing', async () => {
    const { call } = setUp(async () => {
      throw new Error('must not run')
    })
    expect(
      await call({ task: 't' }, createToolContext({ signal: AbortSignal.abort() })),
    ).toMatchObject({ ok: false, error: { code: 'tool_cancelled' } })
  })

  test('after the answer an abort cancels nothing', async () => {
    const controller = new AbortController()
    await answering(resultOf()).call(
      { task: 't' },
      createToolContext({ signal: controller.signal }),
    )
    controller.abort() // cancelCall of the fake would throw
  })
})

describe('P16: the hook of a sub-agent that stopped', () => {
  const told: unknown[] = []
  const onStopped: SubAgentStopped = async (stopped) => void told.push(stopped)

  test('is told what came of it, before its caller is', async () => {
    told.length = 0
    const failure = { code: 'lease_turns', message: 'Over.' } as const
    const result = resultOf({ success: false, state: 'stopped', error: failure })
    const { call } = setUp(async () => ({ ok: true, value: result }), {}, { onStopped })
    expect((await call({ task: 'x' }, createToolContext())).ok).toBe(false)
    expect(told).toEqual([
      { agent: 'rev', child, state: 'stopped', error: failure, text: 'All good.' },
    ])
  })

  test('T22: hears it in a context that has the label of what the agent had read', async () => {
    const labels: unknown[] = []
    const label = labelFrom('http__get news.example')
    const heard: SubAgentStopped = async (_stopped, context) => void labels.push(context.label)
    const { call } = setUp(
      async () => ({ ok: true, value: resultOf({ label }) }),
      {},
      { onStopped: heard },
    )
    await call({ task: 'x' }, createToolContext())
    expect(labels).toEqual([joinLabels([saidLabel, label])])
  })

  test('is not waited for once the call was cancelled', async () => {
    told.length = 0
    const over = new AbortController()
    const run: SessionApi['run'] = async () => {
      over.abort(new Error('stop'))
      return { ok: true, value: resultOf({ success: false, state: 'cancelled' }) }
    }
    const { call } = setUp(run, {}, { onStopped })
    await call({ task: 'x' }, createToolContext({ signal: over.signal }))
    expect(told).toEqual([])
  })
})
