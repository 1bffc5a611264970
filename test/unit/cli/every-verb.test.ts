import { afterAll, describe, expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'
import { allVerbs as verbs, createVerbWords, localVerbs as local } from '../../fakes/verb-words.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const { lineOf, remove } = createVerbWords()
afterAll(remove)
/** Verbs whose findings are the answer, however bad they are. */
const reports = new Set(['doctor'])

const remote = verbs.filter(({ name }) => !local.has(name) && !reports.has(name))
const answered = async (line: readonly string[], fetch: () => Promise<Response>) =>
  isola(line, { env, fetch, input: 'a value\n', sleep: async () => {} })

describe('N8: a verb whose request fails', () => {
  it('is any verb of any noun: each is walked, or named with its reason', () => {
    expect(verbs.length).toBeGreaterThan(110)
    expect(verbs.length - remote.length).toBe(local.size + reports.size)
  })

  describe.each([
    ['is refused', 403, 'forbidden', 'This key may not do that.'],
    ['does not find it', 404, 'request_not_found', 'There is no such thing.'],
    ['finds the database away', 503, 'request_unavailable', 'The database is away.'],
    ['breaks', 500, 'internal_error', 'Something broke.'],
    ['has spent its day', 429, 'insufficient_quota', 'The day has nothing left.'],
  ])('and %s', (_, status, code, message) => {
    it.each(remote.map((one) => [one.name, one] as const))(
      '%s: says why on the error output, prints nothing, and exits with 1',
      async (_name, one) => {
        const fetch = async () =>
          Response.json({ error: { code, message, type: 'x', param: null } }, { status })
        const said = await answered(lineOf(one), fetch)
        expect(said).toMatchObject({ code: 1, stdout: '' })
        expect(said.stderr).toContain(message)
      },
    )
  })

  it.each(remote.map((one) => [one.name, one] as const))(
    '%s: says that no server answers, and prints nothing with --json either',
    async (_name, one) => {
      const fetch = async () => {
        throw new TypeError('fetch failed')
      }
      const said = await answered([...lineOf(one), '--json'], fetch)
      expect(said).toMatchObject({ code: 1, stdout: '' })
      expect(said.stderr).not.toBe('')
    },
  )
})
