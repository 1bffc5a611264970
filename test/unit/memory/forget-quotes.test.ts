import { expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import { forgetQuotes } from '../../../src/features/memory/routes/notes.ts'

/** Sessions that answer so: `busy` is at work, `gone` was deleted, any other has a quote. */
function world(answers: Readonly<Record<string, 'busy' | 'gone' | 'broken' | 'quotes'>>) {
  const asked: string[] = []
  const codes = {
    busy: 'request_conflict',
    gone: 'request_not_found',
    broken: 'request_unavailable',
  } as const
  const deps = {
    memory: { ofPrincipal: () => async () => ({ notes: [{ text: 'tea' }] }) },
    sessionIndex: { idsOf: async () => Object.keys(answers) },
    sessions: {
      at: (session: string) => ({
        forgetTexts: async () => {
          asked.push(session)
          const answer = answers[session]!
          if (answer === 'quotes') return { ok: true, value: { changed: 1 } }
          return { ok: false, error: new IsolaError(codes[answer], 'No.') }
        },
      }),
    },
  }
  const context = { get: () => ({ id: 'ann' }) }
  const forget = () => forgetQuotes(deps as never, context as never, { id: 'mem_1' })
  return { asked, forget }
}

it.each([
  [{ a: 'busy', b: 'quotes' }, ['a']],
  [{ a: 'quotes', b: 'busy', c: 'quotes' }, ['b']],
  [{ a: 'busy', b: 'busy', c: 'gone' }, ['a', 'b']],
  [{ a: 'gone', b: 'quotes', c: 'busy' }, ['c']],
  [{ ses_日本: 'busy' }, ['ses_日本']],
] as const)(
  'I21: a parked run elsewhere stops only its own session, and is named with the command: %j',
  async (answers, busy) => {
    const { asked, forget } = world(answers)
    const error = await forget().catch((one: unknown) => one)
    expect(error).toMatchObject({ code: 'request_conflict' })
    const { message } = error as Error
    for (const session of busy) expect(message).toContain(`isola session cancel ${session}`)
    for (const other of Object.keys(answers).filter(
      (one) => !(busy as readonly string[]).includes(one),
    ))
      expect(message).not.toContain(`cancel ${other}`)
    expect(asked).toEqual(Object.keys(answers))
  },
)

it('says from how many it was taken where nothing is under way, and what breaks is thrown', async () => {
  expect(await world({ a: 'quotes', b: 'gone', c: 'quotes' }).forget()).toEqual({ sessions: 2 })
  await expect(world({ a: 'broken' }).forget()).rejects.toMatchObject({
    code: 'request_unavailable',
  })
})
