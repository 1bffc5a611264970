import { describe, expect, it } from 'vitest'
import type { EventDraft } from '#contracts/event.ts'
import type { HookEvent } from '#features/plugins/types/plugin.ts'
import { callHook } from '../../../../src/features/plugins/hooks/call-hook.ts'
import type { CapabilityDeps } from '../../../../src/features/plugins/capabilities/capability-deps.ts'
import type { HostedParts } from '../../../../src/features/plugins/sandbox/plugin-parts.ts'
import { bundle, createCapabilityDeps, loadOne } from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

const on = 'beforeToolCall'
const event: HookEvent = { on, session: 's', run: 'r', agent: 'a', principal: 'p' }
const plugin = loadOne(
  bundle({ id: 'watch', contributes: { hooks: [{ on }] } }, () => ({
    hooks: { [on]: async () => {} },
  })),
)

/** What a host hands back for two events, as an isolate may have made it up. */
function ask(hook: NonNullable<HostedParts['hooks']>[string], deps: Partial<CapabilityDeps> = {}) {
  const events: EventDraft[] = []
  const context = createToolContext({ emit: (draft) => void events.push(draft) })
  const clock = { nowMs: () => 0, sleep: () => new Promise<void>(() => {}) }
  const outcomes = callHook(
    {
      plugin: { ...plugin, parts: { hooks: { [on]: hook } } },
      on,
      events: [event, event],
      context,
      timeoutMs: 2_000,
    },
    { capabilities: createCapabilityDeps(deps), clock },
  )
  return { outcomes, events }
}

const failed = [{ failed: true }, { failed: true }]

describe('P16: what comes out of a host', () => {
  it.each([
    ['nothing', undefined],
    ['too few', [{ answer: null }]],
    ['too many', [{ answer: null }, { answer: null }, { answer: null }]],
    ['no list', { answer: null }],
    ['another shape', [{ answer: null }, { verdict: 'fine' }]],
    ['a member too many', [{ answer: null }, { answer: null, failed: false }]],
    ['too much', [{ answer: 'x'.repeat(1_100_000) }, { answer: null }]],
    ['what is not JSON', [{ answer: () => 1 }, { answer: null }]],
  ])('counts for none of the events: %s', async (_what, given) => {
    expect(await ask(async () => given).outcomes).toEqual(failed)
  })

  it('is taken in the order of the events', async () => {
    const given = [{ answer: { veto: 'no' } }, { failed: true }]
    expect(await ask(async () => given).outcomes).toEqual(given)
  })

  it.each([
    ['tools', (can) => can.tools.call('kv__get', {})],
    ['model', (can) => can.model.generate({ prompt: 'x' })],
    ['isolate', (can) => can.isolate.run('1')],
  ] as readonly (readonly [
    string,
    (can: Parameters<NonNullable<HostedParts['hooks']>[string]>[1]) => Promise<unknown>,
  ])[])('a hook has no %s, whatever its plugin was granted', async (capability, use) => {
    let message = ''
    const { outcomes, events } = ask(async (_events, can) => {
      await use(can).catch((error: Error) => (message = error.message))
      return [{ answer: null }, { answer: null }]
    })
    await outcomes
    expect(message).toBe(`not in a hook: ${capability}`)
    expect(events).toMatchObject([{ type: 'capability_refused', data: { capability } }])
  })
})

describe('P16: a hook of a plugin that an operator may switch off', () => {
  const allow = [{ answer: null }, { answer: null }]

  it('is not asked without leave, which is a no', async () => {
    let asked = 0
    const hook = async () => ((asked += 1), allow)
    const away = async () => Promise.reject(new Error('away'))
    expect(await ask(hook, { watchRevocation: away }).outcomes).toEqual(failed)
    expect(asked).toBe(0)
  })

  it('ends when it is switched off under way, and gives its leave back', async () => {
    const off = new AbortController()
    let ended = 0
    const watchRevocation = async () => ({
      signal: off.signal,
      check: async () => {},
      end: () => void (ended += 1),
    })
    const { outcomes } = ask(
      () => {
        off.abort(new Error('off'))
        return new Promise(() => {})
      },
      { watchRevocation },
    )
    expect(await outcomes).toEqual(failed)
    expect(ended).toBe(1)
  })

  it('that fails counts against it, and one that goes well for it', async () => {
    const told: string[] = []
    const faults = {
      wentWell: () => void told.push('well'),
      failed: () => void told.push('failed'),
      offFor: () => undefined,
    }
    await ask(async () => allow, { faults }).outcomes
    await ask(async () => [{ answer: null }, { failed: true }], { faults }).outcomes
    await ask(async () => 'garbage', { faults }).outcomes
    await ask(async () => Promise.reject(new Error('boom')), { faults }).outcomes
    expect(told).toEqual(['well', 'failed', 'failed', 'failed'])
  })
})
