import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import type { ModelRequest } from '#contracts/model.ts'
import { asksForSummary, prose, tokensOf, user } from '../../fakes/context.ts'
import { createRandom } from '../../fakes/random.ts'
import { createSessionWorld, settle } from '../../switches/session-world.ts'

const contextTokens = 16_000
const room = contextTokens - 4_096

/** A session whose runs say and hear so much that about thirty of them fill the window. */
function createLongSession(failing: (index: number) => boolean = () => false) {
  const random = createRandom(1_600)
  const world = createSessionWorld({
    contextTokens,
    script: (request, index) => {
      if (asksForSummary(request)) return { text: `Notes of request ${index}.` }
      if (failing(index)) return { error: new IsolaError('model_unavailable', 'Away.') }
      return { text: `Noted. ${prose(random, 150)}` }
    },
  })
  const say = (count: number) => ({
    messages: [user(`Remember number ${7_000 + count}. ${prose(random, 150)}`)],
  })
  const { requests } = world.model
  const answered = () => requests.filter((request) => !asksForSummary(request))
  const records = (life: ReturnType<typeof world.wake>) =>
    Array.from({ length: life.store.lastOrder() }, (_, at) => life.store.turns(at + 1)).flatMap(
      (turns, at) =>
        turns.flatMap(({ compactions = [] }) => compactions.map((made) => ({ at, made }))),
    )
  return { ...world, say, answered, records }
}

describe('a session that outgrows its window many times (P29, C6)', () => {
  it('fails no run in 150 turns over many lives of its object, and sends what fits', async () => {
    const session = createLongSession()
    let life = session.wake({})
    for (let count = 0; count < 150; count += 1) {
      if (count % 25 === 0) life = session.wake(count === 0 ? { id: 'ses_1' } : {})
      expect(await life.run(session.say(count))).toMatchObject({ state: 'completed' })
    }
    const made = session.records(life)
    expect(made.length).toBeGreaterThanOrEqual(3)
    for (const [index, { at }] of made.entries())
      if (index > 0) expect(at - made[index - 1]!.at).toBeGreaterThan(10)
    const sent = session.answered()
    expect(sent).toHaveLength(150)
    expect(Math.max(...sent.map(tokensOf))).toBeLessThanOrEqual(room)
    const compacted = new Set(made.map(({ at }) => at))
    const isSame = (at: number) => startsWith(sent[at]!, sent[at - 1]!)
    for (let at = 1; at < 150; at += 1) if (!compacted.has(at)) expect(isSame(at)).toBe(true)
  })

  const startsWith = (next: ModelRequest, before: ModelRequest) =>
    JSON.stringify(next.messages.slice(0, before.messages.length)) ===
    JSON.stringify(before.messages)
})

describe('a conversation that branches after a compaction', () => {
  it('goes by the decisions of its own line, and leaves alone those of another', async () => {
    const session = createLongSession()
    const life = session.wake({ id: 'ses_1' })
    let count = 0
    let early: string | undefined
    while (session.records(life).length === 0 && count < 60) {
      const outcome = await life.run(session.say((count += 1)))
      if (count === 5) early = outcome.id
    }
    expect(session.records(life)).toHaveLength(1)
    const goesOn = await life.run(session.say(count + 1))
    expect(session.answered().at(-1)!.messages.length).toBeLessThan(count)
    expect(life.transcript.before(life.row(goesOn.id)).compactions).toHaveLength(1)
    const branch = await life.run({ ...session.say(0), after: { run: early!, turn: 1 } })
    expect(branch.state).toBe('completed')
    expect(life.transcript.before(life.row(branch.id)).compactions).toEqual([])
    // Five turns, the new message and the instructions.
    expect(session.answered().at(-1)!.messages).toHaveLength(12)
    // A later life reads it from the rows.
    const again = session.wake()
    expect(again.transcript.before(again.row(goesOn.id)).compactions).toHaveLength(1)
  })
})

describe('the message of a run that failed', () => {
  const userTexts = (messages: readonly { readonly role: string; readonly text?: string }[]) =>
    messages.flatMap(({ role, text }) => (role === 'user' ? [text] : []))
  const textOf = ({ messages: [first] }: ReturnType<ReturnType<typeof createLongSession>['say']>) =>
    first!.role === 'user' ? first!.text : ''

  it('P29: is marked, so that it leaves first', async () => {
    const session = createLongSession((index) => index === 1)
    const life = session.wake({ id: 'ses_1' })
    await life.run(session.say(1))
    await life.run(session.say(2))
    const last = await life.run(session.say(3))
    await settle()
    const { messages } = life.transcript.before(life.row(last.id))
    expect(messages.map((message) => life.transcript.isLeftOver(message))).toEqual([
      false,
      false,
      true,
    ])
  })

  it('P29: does not pile up: of several that failed in a row the last one is sent, also in a later life and on a branch', async () => {
    const session = createLongSession((index) => index >= 1 && index <= 4)
    const life = session.wake({ id: 'ses_1' })
    const said = Array.from({ length: 7 }, (_, at) => session.say(at))
    for (const one of said.slice(0, 5)) await life.run(one)
    const sixth = await life.run(said[5]!)
    await settle()
    const expected = [said[0]!, said[4]!].map(textOf)
    expect(userTexts(session.answered().at(-1)!.messages)).toEqual([...expected, textOf(said[5]!)])
    const again = session.wake()
    expect(userTexts(again.transcript.before(again.row(sixth.id)).messages)).toEqual(expected)
    const branch = await again.run({ ...said[6]!, after: { run: sixth.id, turn: 1 } })
    expect(userTexts(again.transcript.before(again.row(branch.id)).messages)).toEqual([
      ...expected,
      textOf(said[5]!),
    ])
    // The messages are in the transcript all the same.
    expect(userTexts(again.transcript.page(0).messages)).toEqual(said.map(textOf))
  })
})
