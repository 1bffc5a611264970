import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import { createSessionWorld, openingsOf, settle } from '../../switches/session-world.ts'

const say = (text: string) => ({ role: 'user', text, taint: ['user'] }) as const

/** A session whose runs may be declined after they were given a place. */
function setUp() {
  const refusal: { now: Promise<void> | undefined } = { now: undefined }
  const world = createSessionWorld({
    script: (_request, index) => ({ text: `answer ${index}` }),
    async reserve({ asked }) {
      const refuses = refusal.now
      if (!refuses) return asked
      refusal.now = undefined
      await refuses
      throw new IsolaError('request_unavailable', 'Not now.')
    },
  })
  const life = world.wake()
  const asked = () =>
    (world.model.requests.at(-1)?.messages ?? []).flatMap((message) =>
      message.role === 'user' ? [message.text] : [],
    )
  const ask = (text: string) => life.run({ messages: [say(text)] })
  /** Asks for a run that is declined once it is let go. */
  const beginDeclined = () => {
    const gate = Promise.withResolvers<void>()
    refusal.now = gate.promise
    const declined = ask('declined')
    declined.catch(() => {}) // a test may not wait for it
    return { declined, letGo: gate.resolve }
  }
  return { ...world, life, refusal, ask, asked, beginDeclined }
}

describe('a run that was declined', () => {
  it('I16: takes nothing from a conversation that goes on from an earlier place', async () => {
    const { life, ask, asked, beginDeclined } = setUp()
    await ask('one')
    const { declined, letGo } = beginDeclined()
    const three = await life.take({ messages: [say('three')] })
    letGo()
    await expect(declined).rejects.toThrow('Not now.')
    const { id } = await three.live!.done
    await settle()
    expect(life.store.runs().map(({ order }) => order)).toEqual([1, 3])
    await ask('four')
    await life.run({ messages: [say('five')], after: { run: id, turn: 0 } })
    expect(asked()).toEqual(['one', 'three', 'five'])
  })

  it('I16: is no run that another one leaves behind', async () => {
    const { life, ask, runtime, beginDeclined } = setUp()
    const openings = openingsOf(runtime)
    const { id } = await ask('one')
    const { letGo } = beginDeclined()
    const next = await life.take({ messages: [say('two')], after: { run: id, turn: 0 } })
    letGo()
    await next.live!.done
    expect(openings).toEqual(['start', undefined])
  })

  it('I16: is not what a session begins with, if another one waits behind it', async () => {
    const { life, ask, runtime, beginDeclined } = setUp()
    const openings = openingsOf(runtime)
    const { letGo } = beginDeclined()
    const next = await life.take({ messages: [say('one')] })
    letGo()
    await next.live!.done
    await ask('two')
    expect(life.store.runs().map(({ order }) => order)).toEqual([2, 3])
    expect(openings).toEqual(['start', undefined])
  })

  it('I16: gives its place back, so that the next run may be the first', async () => {
    const { life, refusal, ask, asked } = setUp()
    refusal.now = Promise.resolve()
    await expect(ask('declined')).rejects.toThrow('Not now.')
    const first = await ask('one')
    refusal.now = Promise.resolve()
    await expect(ask('declined')).rejects.toThrow('Not now.')
    await ask('two')
    await ask('three')
    expect(life.store.runs().map(({ order }) => order)).toEqual([1, 2, 3])
    expect(life.store.findRun(first.id)?.order).toBe(1)
    expect(asked()).toEqual(['one', 'two', 'three'])
  })
})
