import { describe, expect, it } from 'vitest'
import type { SubmitRequest } from '#runtime/session/types/submission.ts'
import type { SessionParts } from '../../../src/runtime/session/session-parts.ts'
import { runToCome } from '../../../src/runtime/session/storage/store.ts'
import { steerRun } from '../../../src/runtime/session/waiting/outside.ts'
import { asksForSummary, prose, tokensOf, user } from '../../fakes/context.ts'
import { createRandom } from '../../fakes/random.ts'
import {
  createSessionWorld,
  never,
  settle,
  type WorldOptions,
} from '../../switches/session-world.ts'

const request = (more: Partial<SubmitRequest> = {}): SubmitRequest => ({
  principal: 'operator',
  messages: [],
  trace: 't'.repeat(32),
  compact: 'session',
  mustExist: true,
  ...more,
})

/** A session of some runs, of which each says about 300 tokens. */
async function createTalk(runs: number, more: Partial<WorldOptions> = {}) {
  const random = createRandom(77)
  const world = createSessionWorld({
    contextTokens: 64_000,
    script: (asked) =>
      asksForSummary(asked)
        ? { text: 'The user counts; the last number was 7.' }
        : { text: `Noted. ${prose(random, 150)}` },
    ...more,
  })
  const life = world.wake({ id: 'ses_1' })
  const say = (text: string) => life.run({ messages: [user(`${text} ${prose(random, 150)}`)] })
  for (let count = 0; count < runs; count += 1) await say(`Number ${count}.`)
  return { ...world, life, say }
}
const answered = ({ model }: Awaited<ReturnType<typeof createTalk>>) =>
  model.requests.filter((asked) => !asksForSummary(asked))

/** What a run would go on from that comes now. */
const whole = ({ transcript, store }: Pick<SessionParts, 'transcript' | 'store'>) =>
  transcript.before(runToCome(store))

describe('a context that is compacted on request (P29)', () => {
  it('is at most half as long from then on, with a summary by the model, and the transcript stays', async () => {
    const talk = await createTalk(12)
    const { life, runtime } = talk
    const said = whole(life).messages.length
    const { result, report } = await life.contexts.compact('ses_1', request())
    expect(result).toMatchObject({ state: 'completed', result: '', usage: { modelCalls: 1 } })
    expect(report).toMatchObject({ reason: 'requested', stage: 'summary', by: 'model' })
    expect(report!.tokensAfter).toBeLessThan(report!.tokensBefore * 0.6)
    expect(report!.tokens).toBe(result.usage.tokens)
    expect(talk.reserved).toContain(result.id)
    expect(whole(life).messages).toHaveLength(said)
    await talk.say('Go on.')
    const sent = answered(talk).at(-1)!
    expect(tokensOf(sent)).toBeLessThan(report!.tokensBefore * 0.7)
    expect(JSON.stringify(sent.messages)).toContain('the last number was 7')
    expect(runtime.context.shown(whole(life)).length).toBeLessThan(said)
  })

  it('is the same in a later life of its object', async () => {
    const talk = await createTalk(12)
    await talk.life.contexts.compact('ses_1', request())
    const shown = () => talk.runtime.context.shown(whole(talk.wake()))
    expect(shown()).toEqual(talk.runtime.context.shown(whole(talk.life)))
    expect(JSON.stringify(shown())).toContain('the last number was 7')
  })

  it('is compacted again, each time to less, until nothing would leave', async () => {
    const { life } = await createTalk(12)
    const sizes: number[] = []
    const more = async () => {
      const { report } = await life.contexts.compact('ses_1', request())
      sizes.push(report!.tokensAfter)
    }
    await expect(
      (async () => {
        for (let count = 0; count < 12; count += 1) await more()
      })(),
    ).rejects.toMatchObject({ code: 'request_conflict' })
    expect(sizes).toEqual([...sizes].toSorted((a, b) => b - a))
    expect(sizes.length).toBeGreaterThanOrEqual(1)
  })

  it('goes by rule where the run may not spend what a summary costs, and that is on record', async () => {
    const { life } = await createTalk(12)
    const asked = request({ limits: { maxTokens: 4_200 } })
    const { report, result } = await life.contexts.compact('ses_1', asked)
    expect(report).toMatchObject({ by: 'rule' })
    expect(result.usage.tokens).toBe(0)
  })

  it('survives that its object dies while the model writes the summary, and charges what was lost', async () => {
    let isCut = true
    const random = createRandom(5)
    const talk = await createTalk(12, {
      script: (asked) => {
        if (!asksForSummary(asked)) return { text: `Noted. ${prose(random, 150)}` }
        return isCut ? { wait: never } : { text: 'The last number was 11.' }
      },
    })
    void talk.life.contexts.compact('ses_1', request())
    await settle()
    const order = talk.life.store.lastOrder()
    const [row] = talk.life.store.runs(order, order)
    expect(row!.submission.compact).toBe('session')
    expect(talk.life.store.final(order)).toBeUndefined()
    isCut = false
    const next = talk.wake()
    next.runs.resume()
    await next.runs.live(row!.id)?.done
    expect(next.store.final(order)).toMatchObject({ state: 'completed' })
    const made = next.store.turns(order).flatMap(({ compactions = [] }) => compactions)
    expect(made.map(({ report }) => report.reason)).toEqual(['requested'])
    // The attempt that was lost is part of what it cost.
    const { usage } = next.store.final(order)!
    expect(usage.modelCalls).toBe(2)
    expect(made[0]!.report).toMatchObject({
      tokens: usage.tokens,
      costNanoUsd: usage.costNanoUsd,
    })
    expect(JSON.stringify(talk.runtime.context.shown(whole(next)))).toContain(
      'The last number was 11.',
    )
  })

  it('decides and pays nothing again where its object dies after the record is written', async () => {
    const talk = await createTalk(12)
    const { life } = talk
    const { result } = await life.contexts.compact('ses_1', request())
    const { order } = life.row(result.id)
    const [turn] = life.store.turns(order)
    const { final: _over, ...open } = turn!
    const before = talk.model.requests.length
    // As it stood between the record of the compaction and the end of its run.
    life.store.writeTurn(order, { ...open, steps: [], isDone: false })
    const next = talk.wake()
    next.runs.resume()
    await next.runs.live(result.id)?.done
    expect(next.store.final(order)).toMatchObject({ state: 'completed' })
    expect(talk.model.requests).toHaveLength(before)
    expect(next.store.turns(order)[0]!.compactions).toEqual(turn!.compactions)
  })
})

describe('a context is not compacted', () => {
  it('where nothing was said, or too little', async () => {
    const { life } = await createTalk(0)
    const refused = { code: 'request_conflict', message: expect.stringContaining('nothing to') }
    await expect(life.contexts.compact('ses_1', request())).rejects.toMatchObject(refused)
    await life.run({ messages: [user('Hello.')] })
    const runs = life.store.lastOrder()
    await expect(life.contexts.compact('ses_1', request())).rejects.toMatchObject(refused)
    expect(life.store.lastOrder()).toBe(runs)
  })

  it('while a run works, or waits for a person', async () => {
    const held = Promise.withResolvers<void>()
    const talk = await createTalk(6, {
      script: (asked) => ({
        text: `Noted. ${'and so on '.repeat(60)}`,
        ...(JSON.stringify(asked.messages.at(-1)).includes('Hold') && { wait: held.promise }),
      }),
    })
    const { live } = await talk.life.take({ messages: [user('Hold on.')] })
    await settle()
    const refused = { code: 'request_conflict', message: expect.stringContaining('is not over') }
    await expect(talk.life.contexts.compact('ses_1', request())).rejects.toMatchObject(refused)
    held.resolve()
    await live!.done
    await expect(talk.life.contexts.compact('ses_1', request())).resolves.toBeDefined()
  })

  it('for another principal: it finds no such session', async () => {
    const { life } = await createTalk(6)
    await expect(
      life.contexts.compact('ses_1', request({ principal: 'mallory' })),
    ).rejects.toMatchObject({ code: 'request_not_found' })
    await expect(life.contexts.view('mallory')).rejects.toMatchObject({ code: 'request_not_found' })
  })

  it('E1: with the model of the last run, once the caller may not name it any more', async () => {
    let mayName = (_model?: string): boolean => true
    const { life } = await createTalk(11, { mayBegin: async ({ model }) => mayName(model) })
    await life.run({ model: 'dear', messages: [user('Number 11.')] })
    mayName = (model) => model !== 'dear'
    const asked = request({ key: 'key_1' })
    const refused = life.contexts.compact('ses_1', asked)
    await expect(refused).rejects.toMatchObject({ code: 'request_forbidden', param: 'model' })
    const { result } = await life.contexts.compact('ses_1', { ...asked, model: 'cheap' })
    expect(result.state).toBe('completed')
    // An operator acts without the rights of whose session it is.
    await life.run({ model: 'dear', messages: [user(`Number 12. ${prose(createRandom(5), 900)}`)] })
    expect((await life.contexts.compact('ses_1', request())).result.state).toBe('completed')
  })

  it('and takes no message on its way, which would get no answer', async () => {
    const talk = await createTalk(12, {
      script: (asked) => (asksForSummary(asked) ? { wait: never } : { text: 'Noted.' }),
    })
    void talk.life.contexts.compact('ses_1', request())
    await settle()
    const [row] = talk.life.store.unfinishedRuns()
    const said = { id: 'evt_1', message: user('And this?') }
    expect(() => steerRun(row!, said, talk.life)).toThrow(/compacts and answers nothing/)
  })
})

describe('what fills a window', () => {
  it('is counted as the next request is, part by part, before a compaction and after it', async () => {
    const talk = await createTalk(8)
    const count = async () => {
      const view = await talk.life.contexts.view('operator')
      const sum = view.parts.reduce((all, { tokens }) => all + tokens, 0)
      expect(view.tokens - sum).toBeLessThan(10)
      return view
    }
    const before = await count()
    expect(before).toMatchObject({
      agent: 'tester',
      model: 'fake',
      windowTokens: 64_000 - 4_096,
      saidMessages: 16,
    })
    expect(before.parts.map(({ kind }) => kind)).toEqual([
      'instructions',
      'user_messages',
      'assistant_messages',
    ])
    const { report } = await talk.life.contexts.compact('ses_1', request())
    const after = await count()
    expect([before.tokens, after.tokens]).toEqual([report!.tokensBefore, report!.tokensAfter])
    expect(after.parts.map(({ kind }) => kind)).toContain('summary')
    expect(after.saidMessages).toBe(16)
    await talk.say('Go on.')
    const sent = answered(talk).at(-1)!
    const asked = { ...sent, messages: sent.messages.slice(0, -1) }
    expect(tokensOf(asked)).toBe(after.tokens)
  })

  it('is its instructions and tools where nothing was said', async () => {
    const world = createSessionWorld({ script: () => ({ text: 'Hi' }), contextTokens: 16_000 })
    const life = world.wake({ id: 'ses_1' })
    expect(await life.contexts.view('operator')).toMatchObject({
      saidMessages: 0,
      parts: [{ kind: 'instructions', count: 1 }],
    })
  })
})
