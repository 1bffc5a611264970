import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import { zeroUsage } from '#contracts/lease.ts'
import type { Delivery, SubmitRequest } from '#runtime/session/types/submission.ts'
import { deleteSession } from '../../../src/runtime/session/upkeep/ending.ts'
import { pagesAfter } from '../../../src/runtime/session/log/log-view.ts'
import {
  beginByOutcome,
  maxOutcomeRuns,
} from '../../../src/runtime/session/waiting/outcome-runs.ts'
import { takeDelivery } from '../../../src/runtime/session/waiting/outside.ts'
import { viewOf } from '../../../src/runtime/session/log/views.ts'
import { says } from '../../fakes/kernel.ts'
import {
  createSessionWorld,
  never,
  session,
  settle,
  type WorldOptions,
} from '../../switches/session-world.ts'
import { dataOf } from '../../fakes/events.ts'

const found = 'The agent child, started in the background (session ses_child), has finished.'
const refusal = (code: 'request_unavailable' | 'lease_tokens') => new IsolaError(code, 'Not now.')

function createWorld(options: Partial<WorldOptions> = {}) {
  const world = createSessionWorld({ script: () => ({ text: 'hi' }), ...options })
  type Life = ReturnType<typeof world.wake>
  /** As the session's object does it. */
  const deliver = async (
    life: Life,
    parentRun: string,
    more: Partial<Delivery> = {},
    isDeleting = () => false,
  ) => {
    const result = { ...says('two bugs'), usage: { ...zeroUsage, tokens: 40 } }
    const base = { agent: 'child', session: 'ses_child', call: 'call_1', isBackground: true }
    const delivery: Delivery = { ...base, onOutcome: 'run', parentRun, result, ...more }
    const where = { runtime: world.runtime, sessionId: session }
    takeDelivery(delivery, life)
    const admit = (request: SubmitRequest) => life.take(request)
    const about = { ...where, isDeleting, admit }
    await beginByOutcome(delivery, { ...life, ...about })
  }
  const runsOf = (life: Life) => life.store.runs().map(({ submission }) => submission.begunBy)
  const heard = (life: Life) =>
    life.transcript
      .page(0)
      .messages.filter((message) => message.role === 'user' && message.text.startsWith(found))
  return { ...world, deliver, runsOf, heard }
}

describe('an outcome that is to begin a run', () => {
  it('I10: begins one, whose message it is, and which says what began it', async () => {
    const { wake, deliver, heard, model, runtime } = createWorld()
    const life = wake()
    const { id: run } = await life.run({ requireApproval: ['mail'], key: 'key_1' })
    await deliver(life, run)
    await settle()
    const [, row] = life.store.runs()
    const begunBy = { run, call: 'call_1', session: 'ses_child', depth: 1 }
    expect(row?.submission).toMatchObject({ begunBy, requireApproval: ['mail'], key: 'key_1' })
    expect(viewOf(row!, { ...life, runtime, session })).toMatchObject({
      state: 'completed',
      begunBy,
    })
    const started = [...pagesAfter(life.store, 0, 1_000)]
      .flat()
      .filter(({ type }) => type === 'run_started')
    expect(started.map((event) => dataOf(event)['begunBy'])).toEqual([undefined, begunBy])
    // What it reads ends with the outcome, which is nowhere else.
    expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({
      text: expect.stringContaining('two bugs'),
      taint: ['tool:child__run'],
    })
    expect(JSON.stringify(model.requests.at(-1)?.messages).match(/two bugs/g)).toHaveLength(1)
    expect(heard(life)).toHaveLength(1)
  })

  it('F31: begins one, however often it is delivered, at once or in another life', async () => {
    const { wake, deliver, heard, runsOf } = createWorld()
    const life = wake()
    const { id: run } = await life.run()
    await Promise.all([deliver(life, run), deliver(life, run)])
    await deliver(life, run)
    const later = wake()
    await deliver(later, run)
    await settle()
    expect(runsOf(later)).toHaveLength(2)
    expect(heard(later)).toHaveLength(1)
  })

  it.each<['loading' | 'reserve' | 'mayBegin']>([['loading'], ['reserve'], ['mayBegin']])(
    'F5, F20: begins one after a crash between its arrival and the start (%s)',
    async (where) => {
      let isCut = false
      const cut = async () => (isCut ? never : undefined)
      const { wake, deliver, heard, runsOf } = createWorld({
        loading: async () => (where === 'loading' ? cut() : undefined),
        reserve: async ({ asked }) => (where === 'reserve' ? ((await cut()) ?? asked) : asked),
        mayBegin: async () => (where === 'mayBegin' ? ((await cut()) ?? true) : true),
      })
      const life = wake()
      const { id: run } = await life.run()
      isCut = true
      void deliver(life, run)
      await settle()
      isCut = false
      const later = wake()
      expect(runsOf(later)).toHaveLength(1)
      // The delivery was not acknowledged, so it comes again.
      await deliver(later, run)
      await settle()
      expect(runsOf(later)).toHaveLength(2)
      expect(heard(later)).toHaveLength(1)
    },
  )

  it('E1: is noted for the next run if the day has nothing left, and begins none later', async () => {
    let isUsedUp = false
    const { wake, deliver, heard, runsOf, model } = createWorld({
      async reserve({ asked }) {
        if (isUsedUp) throw refusal('lease_tokens')
        return asked
      },
    })
    const life = wake()
    const { id: run } = await life.run()
    isUsedUp = true
    await deliver(life, run)
    isUsedUp = false
    await deliver(life, run)
    expect(runsOf(life)).toHaveLength(1)
    expect(heard(life)).toHaveLength(1)
    await life.run({ messages: [{ role: 'user', text: 'and?', taint: ['user'] }] })
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('two bugs')
  })

  it('comes again if its run cannot be begun just now', async () => {
    let isAway = false
    const { wake, deliver, runsOf } = createWorld({
      async reserve({ asked }) {
        if (isAway) throw refusal('request_unavailable')
        return asked
      },
    })
    const life = wake()
    const { id: run } = await life.run()
    isAway = true
    await expect(deliver(life, run)).rejects.toThrow('Not now.')
    isAway = false
    await deliver(life, run)
    expect(runsOf(life)).toHaveLength(2)
  })

  it('E1: shares the limits of the run that was asked for with all that outcomes begin, side by side or behind another', async () => {
    const leases: number[] = []
    const { wake, deliver } = createWorld({
      async reserve({ asked }) {
        leases.push(asked.tokens)
        return asked
      },
    })
    const life = wake()
    const { id: run } = await life.run({ limits: { maxTokens: 9_000 } })
    const three = ['call_1', 'call_2', 'call_3']
    await Promise.all(three.map((call) => deliver(life, run, { call })))
    await settle()
    await deliver(life, life.store.runs().at(-1)!.id, { call: 'call_4' })
    await settle()
    const spent = life.store.runs().map(({ order }) => life.store.final(order)!.usage.tokens)
    expect(spent).toHaveLength(5)
    expect(Math.min(...spent)).toBeGreaterThan(0)
    const left = spent.map((_, at) => spent.slice(0, at).reduce((sum, one) => sum - one, 9_000))
    expect(leases).toEqual(left)
    // A new request has limits of its own.
    await life.run({ limits: { maxTokens: 9_000 } })
    expect(leases.at(-1)).toBe(9_000)
  })

  it('does not call again what the run was made to call first', async () => {
    const { wake, deliver } = createWorld()
    const life = wake()
    const parameters = { temperature: 0, toolChoice: 'required' } as const
    const { id: run } = await life.run({ parameters })
    await deliver(life, run)
    expect(life.store.runs()[1]?.submission.parameters).toEqual({ temperature: 0 })
  })

  it('is noted where the caller may not begin runs any more', async () => {
    const { wake, deliver, runsOf, heard } = createWorld({ mayBegin: async () => false })
    const life = wake()
    const { id: run } = await life.run()
    await deliver(life, run)
    expect([runsOf(life).length, heard(life).length]).toEqual([1, 1])
  })

  it('F31: is the message of its run alone, also if the key ends before it comes again', async () => {
    let isGood = true
    const { wake, deliver, runsOf, heard } = createWorld({ mayBegin: async () => isGood })
    const life = wake()
    const { id: run } = await life.run()
    await deliver(life, run)
    await settle()
    isGood = false
    await deliver(life, run)
    expect([runsOf(life).length, heard(life).length]).toEqual([2, 1])
  })

  it('E1: begins so many runs side by side, and is noted then', async () => {
    const { wake, deliver, runsOf, heard } = createWorld()
    const life = wake()
    const { id: run } = await life.run()
    const calls = [1, 2, 3, 4, 5, 6].map((call) => `call_${call}`)
    await Promise.all(calls.map((call) => deliver(life, run, { call })))
    await settle()
    expect(runsOf(life)).toHaveLength(1 + maxOutcomeRuns)
    expect(heard(life)).toHaveLength(calls.length)
  })

  it.each([
    ['is being deleted', 0],
    ['begins to be deleted while its run does', 1],
  ])('E8: is noted and acknowledged if its session %s', async (_when, laterBy) => {
    let isAway = false
    const { wake, deliver, runsOf, heard } = createWorld({
      async reserve({ asked }) {
        if (isAway) throw refusal('request_unavailable')
        return asked
      },
    })
    const life = wake()
    const { id: run } = await life.run()
    isAway = laterBy > 0
    let looks = 0
    await deliver(life, run, {}, () => (looks += 1) > laterBy)
    expect([runsOf(life).length, heard(life).length]).toEqual([1, 1])
  })

  it('begins so many runs in a row, and is noted then', async () => {
    const { wake, deliver, runsOf, heard } = createWorld()
    const life = wake()
    await life.run()
    for (let count = 0; count < maxOutcomeRuns + 2; count += 1) {
      await deliver(life, life.store.runs().at(-1)!.id, { call: `call_${count}` })
      await settle()
    }
    expect(runsOf(life).map((begunBy) => begunBy?.depth)).toEqual([undefined, 1, 2, 3, 4])
    expect(heard(life)).toHaveLength(maxOutcomeRuns + 2)
    // A new request begins a new chain.
    const { id } = await life.run()
    await deliver(life, id)
    expect(runsOf(life).at(-1)?.depth).toBe(1)
  })

  it('E1: counts in every life those that are about to begin, wherever they came in', async () => {
    let isAway = true
    const { wake, deliver, runsOf, heard } = createWorld({
      async reserve({ asked }) {
        if (isAway) throw refusal('request_unavailable')
        return asked
      },
    })
    isAway = false
    const life = wake()
    const first = await life.run()
    const second = await life.run()
    isAway = true
    for (const call of ['call_1', 'call_2', 'call_3'])
      await expect(deliver(life, first.id, { call })).rejects.toThrow('Not now.')
    const later = wake()
    await expect(deliver(later, second.id, { call: 'call_4' })).rejects.toThrow('Not now.')
    await deliver(later, second.id, { call: 'call_5' }) // one too many: it is noted
    isAway = false
    for (const call of ['call_1', 'call_2', 'call_3']) await deliver(later, first.id, { call })
    await deliver(later, second.id, { call: 'call_4' })
    await settle()
    expect(runsOf(later)).toHaveLength(2 + maxOutcomeRuns)
    expect(heard(later)).toHaveLength(5)
    expect(later.store.pending.count()).toBe(0)
    // A new request begins a new chain, and so does an outcome for a run of long ago.
    await later.run()
    await deliver(later, first.id, { call: 'call_6' })
    await settle()
    expect(runsOf(later)).toHaveLength(4 + maxOutcomeRuns)
  })

  it.each<[string, Partial<SubmitRequest>]>([
    ['a session that nobody named', { isStateless: true }],
    ['a response', { echo: {} }],
  ])('is noted in %s', async (_what, request) => {
    const { wake, deliver, runsOf } = createWorld()
    const life = wake()
    const { id: run } = await life.run(request)
    await deliver(life, run)
    expect(runsOf(life)).toHaveLength(1)
  })

  it('is heard by the run that started the work, if that still goes on', async () => {
    const gate = Promise.withResolvers<void>()
    const { wake, deliver, runsOf, heard } = createWorld({
      script: (_request, index) => ({ text: 'hi', ...(index === 0 && { wait: gate.promise }) }),
    })
    const life = wake()
    const { live, receipt } = await life.take()
    await live!.accepted
    await deliver(life, receipt.run)
    gate.resolve()
    await live!.done
    // It was delivered, heard, and its acknowledgement lost.
    await deliver(life, receipt.run)
    expect([runsOf(life).length, heard(life).length]).toEqual([1, 1])
  })

  it('E8: begins none for a run that was cancelled, nor in a session that was deleted', async () => {
    const gate = Promise.withResolvers<void>()
    const { wake, deliver, runsOf, runtime } = createWorld({
      script: () => ({ text: 'hi', wait: gate.promise }),
    })
    const life = wake()
    const { live, receipt } = await life.take()
    await live!.accepted
    life.runs.cancel(life.row(receipt.run), 'enough')
    gate.resolve()
    expect(await live!.done).toMatchObject({ state: 'cancelled' })
    await deliver(life, receipt.run)
    expect(runsOf(life)).toHaveLength(1)
    await deleteSession('operator', life, runtime)
    await expect(deliver(wake(), receipt.run)).rejects.toThrow('no such run')
  })
})
