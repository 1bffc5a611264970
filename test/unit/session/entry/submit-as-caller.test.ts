import { describe, expect, it } from 'vitest'
import type { Principal } from '#contracts/operations.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import { toSubmission } from '../../../../src/runtime/session/entry/submit-as.ts'
import { submitAsCaller } from '../../../../src/runtime/session/requests/open-session.ts'

const known: Principal = { id: 'alice', role: 'user', key: 'key_1' }
const claimed: Principal = { ...known, claim: 'what was said' }
const failure = (code: string): ObjectReply<never> => ({
  ok: false,
  error: { code, message: code },
})
const ok: ObjectReply<string> = { ok: true, value: 'done' }

/** A session that gives these answers, one after the other. */
function setUp(asking: Principal, replies: readonly ObjectReply<unknown>[]) {
  const sent: { readonly claim?: string; readonly protocol?: number }[] = []
  const said: string[] = []
  const run = async () => replies[sent.length - 1]
  const entry = {
    submitAs: (principal: Principal, ask: never, by: never) => ({
      run: () => (sent.push(toSubmission(principal, ask, by)), run()),
    }),
  }
  const context = {
    raw: new Request('http://isola.test/'),
    noteBegun: () => {},
    noteProven: () => void said.push('proven'),
    prove: async () => (said.push('asked'), known),
  }
  const ask = { session: 'ses_1', messages: [], trace: 't' }
  const work = submitAsCaller({ entry: entry as never, asking }, context as never, ask, {
    origin: 'chat',
  })
  return { work, sent, said }
}

describe('a submission in the name of a caller', () => {
  it('is sent as it is for a caller whose key was looked up', async () => {
    const { work, sent, said } = setUp(known, [failure('request_unauthenticated')])
    expect(await work.run()).toEqual(failure('request_unauthenticated'))
    expect(sent).toMatchObject([{ protocol: 1 }])
    expect(said).toEqual([])
  })

  it('G12: has the claim, under a protocol that a session without claims refuses', async () => {
    const { work, sent, said } = setUp(claimed, [ok])
    expect(await work.run()).toEqual(ok)
    expect(sent).toMatchObject([{ claim: 'what was said', protocol: 2 }])
    expect(said).toEqual(['proven'])
  })

  it.each(['request_unauthenticated', 'request_conflict'])(
    'F32, G12: is sent once more without a claim after %s, for a key that was looked up',
    async (code) => {
      const { work, sent, said } = setUp(claimed, [failure(code), ok])
      expect(await work.run()).toEqual(ok)
      expect(sent).toHaveLength(2)
      expect(sent[1]).not.toHaveProperty('claim')
      expect(sent[1]?.protocol).toBe(1)
      expect(said).toEqual(['asked'])
    },
  )

  it('F15, G12: proves nothing where the session could not ask', async () => {
    const { work, said } = setUp(claimed, [failure('request_unavailable')])
    expect(await work.run()).toEqual(failure('request_unavailable'))
    expect(said).toEqual([])
  })

  it('passes a refusal on that comes after the proof', async () => {
    const { work, sent, said } = setUp(claimed, [failure('request_not_found')])
    expect(await work.run()).toEqual(failure('request_not_found'))
    expect([sent.length, said]).toEqual([1, ['proven']])
  })
})
