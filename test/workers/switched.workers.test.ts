import { runInDurableObject } from 'cloudflare:test'
import { afterEach, describe, expect, it } from 'vitest'
import type { SubmitRequest } from '#runtime/session/types/submission.ts'
import type { Answer } from '../fakes/client.ts'
import { sessions, stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const submission: SubmitRequest = {
  agent: 'orchestrator',
  principal: 'operator',
  messages: [{ role: 'user', text: 'go', taint: ['user'] }],
  trace: 'a'.repeat(32),
  idempotencyKey: 'k',
}
let count = 0
/** A session with one run that is over. */
async function withRun() {
  withModel(() => ({ text: 'hi' }))
  const session = await sessions.idFor('named', ['switched', String((count += 1))])
  const reply = (await sessions.at(session).run(session, submission)) as Answer
  return { session, run: reply.value.id as string }
}

/** Whether `work` is answered while the disk does not say that what was written is durable. */
async function isAnsweredWithoutSync(
  session: string,
  work: (instance: Answer) => Promise<unknown>,
): Promise<boolean> {
  return runInDurableObject(stubOf(session), async (instance, { storage }) => {
    const disk = Promise.withResolvers<void>()
    const sync = storage.sync.bind(storage)
    storage.sync = () => disk.promise
    try {
      const working = work(instance)
      const late = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), 50))
      const first = await Promise.race([working, late])
      disk.resolve()
      await working
      return first !== 'late'
    } finally {
      storage.sync = sync
    }
  })
}

describe('an event that was written, but is not durable yet', () => {
  it('is not sent to a reader who comes back with a cursor (docs/reliability.md F4)', async () => {
    const { session } = await withRun()
    const read = (instance: Answer) => instance.events('operator', { afterSeq: 0, follow: false })
    expect(await isAnsweredWithoutSync(session, read)).toBe(false)
  })

  it('is not sent to a reader who joins a run (docs/reliability.md F4)', async () => {
    const { session } = await withRun()
    const join = (instance: Answer) => instance.runStream(session, submission)
    expect(await isAnsweredWithoutSync(session, join)).toBe(false)
  })
})

describe('a session of another principal', () => {
  it('T2: looks like one that is not there, whatever is asked of it', async () => {
    const { session, run } = await withRun()
    const absent = sessions.at(await sessions.idFor('named', ['nobody was here']))
    const answersOf = async (at: ReturnType<typeof sessions.at>) => [
      await at.result('someone', run),
      await at.transcript('someone'),
      await at.tree('someone'),
      await at.cancel('someone', run, 'mine'),
      await at.delete('someone'),
    ]
    const answers = await answersOf(sessions.at(session))
    expect(answers).toEqual(await answersOf(absent))
    expect(answers.every(({ ok }) => !ok)).toBe(true)
  })
})
