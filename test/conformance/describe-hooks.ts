import { describe, expect, it } from 'vitest'
import { joinLabels, ownLabel, saidLabel } from '#contracts/label.ts'
import type { EventDraft } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { HookSubject, ToolHooks } from '#runtime/kernel/types/policy.ts'
import type { Clock } from '#contracts/sources.ts'
import type { LoadedPlugin } from '../../src/features/plugins/loading/in-process-host.ts'
import { toToolEntries } from '../../src/features/plugins/tools/tool-entries.ts'
import { createCapabilityDeps, createTestHooks } from '../fakes/plugins.ts'
import { createToolContext } from '../fakes/tool-context.ts'

export interface HooksHost {
  /** The fixture `hooks`, with how often its host was asked. */
  readonly load: () => { readonly plugin: LoadedPlugin; readonly asked: () => number }
}

/** Time passes as soon as nothing else is to be done. */
const shortClock: Clock = {
  nowMs: () => 0,
  sleep: (_ms, signal) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, 50)
      signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    }),
}

interface World {
  readonly hooks: ToolHooks
  readonly events: EventDraft[]
  readonly asked: () => number
  readonly subject: (input: JsonObject, more?: Partial<HookSubject>) => HookSubject
}

/** P16: the same hooks answer the same from either host. */
export function describeHooks(what: string, { load }: HooksHost): void {
  const open = (clock?: Clock): World => {
    const { plugin, asked } = load()
    const events: EventDraft[] = []
    let calls = 0
    // The calls of one turn have one signal, that of their segment.
    const { signal } = new AbortController()
    return {
      events,
      asked,
      hooks: createTestHooks([plugin], clock && { clock }).tools,
      subject: (input, more = {}) => ({
        ...createToolContext(),
        signal,
        call: `call_${(calls += 1)}`,
        tool: 'demo__go',
        input,
        emit: (event) => void events.push(event),
        ...more,
      }),
    }
  }
  const denied = { veto: true, message: 'A check before this call failed, so it was not made.' }
  const called = (events: readonly EventDraft[]) =>
    events.flatMap(({ type, data }) => (type === 'hook_called' ? [data] : []))

  /** It reaches nothing, and has read nothing but what it heard. */
  const made = { integrity: 'tool', confidentiality: 'public', sources: [] } as const
  const madeByHook = joinLabels([saidLabel, made])

  describe(`P16: hooks ${what}`, () => {
    it('lets a call pass as it is, and the record says who was asked', async () => {
      const { hooks, events, subject } = open()
      expect(await hooks.before(subject({ a: 1 }))).toEqual({ veto: false })
      expect(called(events)).toEqual([
        {
          plugin: 'hooks',
          version: '1.0.0',
          tier: expect.stringMatching(/builtin|community/) as unknown,
          on: 'beforeToolCall',
          matched: 1,
          verdict: 'allow',
          durationMs: 0,
        },
      ])
    })

    it('vetoes a call, with words for the model', async () => {
      const { hooks, events, subject } = open()
      expect(await hooks.before(subject({ do: 'veto' }))).toEqual({
        veto: true,
        message: 'The plugin hooks does not allow it: not on a Sunday',
        label: madeByHook,
      })
      expect(called(events)).toMatchObject([
        { verdict: 'vetoed', calls: [{ call: 'call_1', verdict: 'vetoed' }] },
      ])
      expect(JSON.stringify(events)).not.toContain('Sunday')
    })

    it('vetoes also where it changes', async () => {
      const { hooks, subject } = open()
      expect(await hooks.before(subject({ do: 'veto-and-change' }))).toMatchObject({ veto: true })
    })

    it('changes the input of a call', async () => {
      const { hooks, events, subject } = open()
      expect(await hooks.before(subject({ do: 'change' }))).toEqual({
        veto: false,
        input: { do: 'change', seen: 'demo__go' },
        label: madeByHook,
      })
      expect(called(events)).toMatchObject([{ verdict: 'changed' }])
    })

    it.each(['throw', 'garbage', 'function', 'swell'])(
      'fails closed before a call: %s',
      async (how) => {
        const { hooks, events, subject } = open()
        expect(await hooks.before(subject({ do: how }))).toEqual(denied)
        expect(called(events)).toMatchObject([{ verdict: 'failed' }])
        expect(JSON.stringify(events)).not.toContain('/srv')
      },
    )

    it('fails closed when it is late', async () => {
      const { hooks, events, subject } = open(shortClock)
      expect(await hooks.before(subject({ do: 'hang' }))).toEqual(denied)
      expect(called(events)).toMatchObject([{ verdict: 'failed' }])
    })

    it('is asked once about the eight calls of a turn, and answers each', async () => {
      const { hooks, asked, events, subject } = open()
      const what = ['', 'veto', 'change', 'throw', '', 'garbage', 'change', '']
      const verdicts = await Promise.all(what.map((one) => hooks.before(subject({ do: one }))))
      expect(verdicts.map(({ veto }) => veto)).toEqual(
        what.map((one) => ['veto', 'throw', 'garbage'].includes(one)),
      )
      expect(asked()).toBe(1)
      expect(called(events)).toMatchObject([
        {
          matched: 8,
          verdict: 'failed',
          calls: [
            { call: 'call_2', verdict: 'vetoed' },
            { call: 'call_3', verdict: 'changed' },
            { call: 'call_4', verdict: 'failed' },
            { call: 'call_6', verdict: 'failed' },
            { call: 'call_7', verdict: 'changed' },
          ],
        },
      ])
    })

    it('asks runs of others apart', async () => {
      const { hooks, asked, subject } = open()
      await Promise.all([
        hooks.before(subject({}, { run: 'run_1' })),
        hooks.before(subject({}, { run: 'run_2', signal: new AbortController().signal })),
      ])
      expect(asked()).toBe(2)
    })

    it('never sees what does not match', async () => {
      const { hooks, asked, events, subject } = open()
      const tool = 'kv__set'
      expect(await hooks.before(subject({ do: 'veto' }, { tool }))).toEqual({ veto: false })
      expect(asked()).toBe(0)
      expect(called(events)).toEqual([])
      const [told] = await Promise.all([
        hooks.before(subject({ do: 'tell' })),
        hooks.before(subject({ do: 'veto', secret: 's3cret' }, { tool })),
      ])
      expect(JSON.stringify(told)).not.toContain('s3cret')
      expect(called(events)).toMatchObject([{ matched: 1 }])
    })

    it('is told whose call it is, and its log says whose it is', async () => {
      const { hooks, events, subject } = open()
      expect(await hooks.before(subject({ do: 'tell' }))).toEqual({
        veto: false,
        input: {
          told: {
            on: 'beforeToolCall',
            session: 'ses_root',
            run: 'run_1',
            agent: 'orchestrator',
            principal: 'operator',
            tool: 'demo__go',
            input: { do: 'tell' },
          },
        },
        label: madeByHook,
      })
      expect(events).toContainEqual({
        type: 'tool_log',
        data: {
          call: 'call_1',
          message: 'asked about demo__go of orchestrator',
          plugin: 'hooks',
          hook: 'beforeToolCall',
        },
      })
    })

    it('has its own storage, and what it read there is private', async () => {
      const { hooks, subject } = open()
      await hooks.before(subject({ do: 'remember' }))
      expect(await hooks.before(subject({ do: 'remember' }))).toMatchObject({
        veto: false,
        input: { count: 2 },
        label: { confidentiality: 'private' },
      })
    })

    it.each([
      ['call-a-tool', 'tools'],
      ['ask-a-model', 'model'],
    ])('never sets off hooks again, nor spends: %s', async (how, capability) => {
      const { hooks, asked, events, subject } = open()
      expect(await hooks.before(subject({ do: how }))).toEqual(denied)
      expect(asked()).toBe(1)
      expect(events).toContainEqual({
        type: 'capability_refused',
        data: { call: 'call_1', capability, plugin: 'hooks', hook: 'beforeToolCall' },
      })
    })

    it('changes a result, holds one back, and keeps what was spent', async () => {
      const { hooks, subject } = open()
      const usage = { tokens: 7 } as never
      const result = { ok: true, output: { card: '4111' }, label: saidLabel, usage } as const
      expect(await hooks.after(subject({ do: 'change' }), result)).toEqual({
        ok: true,
        output: { redacted: true },
        taint: ['tool:demo__go', 'tool:hooks'],
        label: madeByHook,
        usage,
      })
      expect(await hooks.after(subject({ do: 'veto' }), result)).toEqual({
        ok: false,
        error: {
          code: 'tool_denied',
          message: 'The plugin hooks does not allow it: not on a Sunday',
        },
        label: madeByHook,
        usage,
      })
      for (const how of ['throw', 'garbage', 'swell'])
        expect(await hooks.after(subject({ do: how }), result)).toEqual({
          ok: false,
          error: {
            code: 'tool_denied',
            message: 'A check after this call failed, so its result is held back.',
          },
          label: ownLabel,
          usage,
        })
    })

    it('Y10: its schedule runs by hand, as a tool', async () => {
      const { plugin } = load()
      const [entry, ...others] = toToolEntries(plugin, createCapabilityDeps())
      expect(others).toEqual([])
      expect(entry?.tool.name).toBe('hooks__execute')
      expect(entry?.tool.inputSchema).toEqual({
        type: 'object',
        properties: {},
        additionalProperties: false,
      })
      const first = await entry!.tool.execute({}, createToolContext())
      expect(first).toMatchObject({ ok: true, output: { text: 'The first time.' } })
      const second = await entry!.tool.execute({}, createToolContext())
      expect(second).toMatchObject({ ok: true, output: {} })
      expect(plugin.protocols).toEqual(['SchedulerProvider', 'HookProvider'])
    })
  })
}
