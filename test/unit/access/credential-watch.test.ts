import { expect, it } from 'vitest'
import type { CredentialState } from '#runtime/session/types/principal.ts'
import { IsolaError } from '#contracts/errors.ts'
import { createCredentialWatch } from '../../../src/features/access/credential-watch.ts'
import { createHeldRows } from '../../../src/features/access/held-rows.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'
import { createFakeGateway } from '../../fakes/session-gateway.ts'

const settle = () => new Promise((resolve) => setTimeout(resolve, 0))
const active: CredentialState = { state: 'active' }
const revoked: CredentialState = { state: 'ended', reason: 'revoked' }

function createWorld() {
  let nowMs = 1_790_000_000_000
  const asleep = (_ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()))
  const clock = { nowMs: () => nowMs, sleep: asleep }
  const storage = createPrincipalStorage()
  const rows = createHeldRows(storage)
  const states = new Map<string, CredentialState>()
  const told: [session: string, credential: string, reason: string][] = []
  const away = new Set<string>()
  const wakes: number[] = []
  /** Answers of sessions about their work; a session that is not in the map knows of none. */
  const works = new Map<string, Promise<boolean>>()
  const questions: string[] = []
  let asked = 0
  let isDatabaseAway = false
  let answer: Promise<void> = Promise.resolve()
  const watch = createCredentialWatch({
    rows,
    clock,
    checkEveryMs: 600_000,
    wakeAt: (timeMs) => void wakes.push(timeMs - clock.nowMs()),
    async stateOf(id) {
      asked += 1
      const state = states.get(id) ?? active
      await answer
      if (isDatabaseAway) throw new IsolaError('request_unavailable', 'Away.')
      return state
    },
    sessions: {
      at: (session) =>
        createFakeGateway({
          async endHeld(credential: string, reason: string) {
            if (away.has(session)) throw new Error('away')
            told.push([session, credential, reason])
          },
          async worksWith(credential: string) {
            questions.push(`${session} ${credential}`)
            if (away.has(session)) throw new Error('away')
            return works.get(session) ?? false
          },
        }).at(session),
    },
  })
  const hold = (session: string, credentials = ['key_1'], upTo = 1) =>
    watch.hold({ principal: 'alice', session, credentials, upTo })
  const release = (session: string, upTo = 1) =>
    watch.release({ principal: 'alice', session, credentials: ['key_1'], upTo })
  return {
    clock,
    storage,
    rows,
    works,
    questions,
    states,
    told,
    away,
    wakes,
    watch,
    hold,
    release,
    asked: () => asked,
    whom: () => told.map(([session, credential]) => `${session} ${credential}`),
    wait: (ms: number) => void (nowMs += ms),
    setDatabaseAway: (isAway: boolean) => void (isDatabaseAway = isAway),
    answerAfter: (gate: Promise<void>) => void (answer = gate),
  }
}

it('G12: sessions that work with a revoked key are told, and no other session is', async () => {
  const { hold, states, watch, told } = createWorld()
  hold('ses_1')
  hold('ses_2', ['key_1', 'grant_1'])
  hold('ses_3', ['key_2'])
  await settle()
  states.set('key_1', revoked)
  expect(await watch.look()).toBeGreaterThan(0)
  const reason = 'revoked: the key key_1, with which it was asked for, was taken back.'
  expect(told.toSorted(([a], [b]) => (a < b ? -1 : 1))).toEqual([
    ['ses_1', 'key_1', reason],
    ['ses_2', 'key_1', reason],
  ])
  // The sign-in of the second holds, and the other key does.
  expect(hold('ses_2', ['grant_1'])).toBeUndefined()
  await watch.look()
  expect(told).toHaveLength(2)
})

it('G12: a session that begins with a key while the key is revoked is found, in either order', async () => {
  const { hold, states, watch, told, whom, answerAfter } = createWorld()
  const gate = Promise.withResolvers<void>()
  answerAfter(gate.promise)
  // The database was asked before the key was revoked, and answers late.
  hold('ses_1')
  answerAfter(Promise.resolve())
  states.set('key_1', revoked)
  await watch.look()
  expect(whom()).toEqual(['ses_1 key_1'])
  hold('ses_2')
  gate.resolve()
  await settle()
  expect(hold('ses_3')).toEqual({ id: 'key_1', reason: 'revoked' })
  await settle()
  expect(new Set(told.map(([session]) => session))).toEqual(new Set(['ses_1', 'ses_2', 'ses_3']))
})

it('G12: a session that cannot be reached is told again, soon at first', async () => {
  const { hold, states, watch, whom, away, clock } = createWorld()
  hold('ses_1')
  hold('ses_2')
  await settle()
  away.add('ses_1')
  states.set('key_1', revoked)
  const first = await watch.look()
  expect(first! - clock.nowMs()).toBe(1_000)
  expect(whom()).toEqual(['ses_2 key_1'])
  expect((await watch.look())! - clock.nowMs()).toBe(2_000)
  away.clear()
  expect(await watch.look()).toBeUndefined()
  expect(whom()).toEqual(['ses_2 key_1', 'ses_1 key_1'])
})

it('G12: a key that cannot be looked up is looked up again, and ends nothing meanwhile', async () => {
  const { hold, states, watch, told, whom, setDatabaseAway, wakes, clock } = createWorld()
  setDatabaseAway(true)
  states.set('key_1', revoked)
  expect(hold('ses_1')).toBeUndefined()
  await settle()
  expect([told, wakes.at(-1)]).toEqual([[], 1_000])
  expect((await watch.look())! - clock.nowMs()).toBe(2_000)
  setDatabaseAway(false)
  await watch.look()
  expect(whom()).toEqual(['ses_1 key_1'])
})

it('G12: a key past its end date is looked for when it ends', async () => {
  const { hold, states, watch, told, clock, wait, wakes } = createWorld()
  states.set('key_1', { state: 'active', endsAtMs: clock.nowMs() + 5_000 })
  hold('ses_1')
  await settle()
  expect(wakes.at(-1)).toBe(5_000)
  wait(5_000)
  states.set('key_1', { state: 'ended', reason: 'expired' })
  await watch.look()
  expect(told[0]?.[2]).toBe(
    'expired: the key key_1, with which it was asked for, has come to its end.',
  )
})

it('a release that is late takes nothing from a run that came after it', async () => {
  const { hold, release, rows, watch } = createWorld()
  hold('ses_1', ['key_1'], 2)
  release('ses_1', 1)
  expect(rows.holders('key_1')).toEqual([{ session: 'ses_1', upTo: 2 }])
  release('ses_1', 2)
  expect(rows.holders('key_1')).toEqual([])
  await settle()
  expect(await watch.look()).toBeUndefined()
  expect(rows.credentials()).toEqual([])
})

it('the database is asked once about a key that many sessions work with', async () => {
  const { hold, asked } = createWorld()
  hold('ses_1')
  await settle()
  for (let session = 2; session < 20; session += 1) hold(`ses_${session}`)
  await settle()
  expect(asked()).toBe(1)
})

const hourMs = 3_600_000
const sessionsOf = ({ rows }: Pick<ReturnType<typeof createWorld>, 'rows'>) =>
  rows.holders('key_1').map(({ session }) => session)

it('G12: a session that was deleted, or never wrote its run, is forgotten after an hour', async () => {
  const world = createWorld()
  const { hold, watch, works, away, wait, questions, clock } = world
  for (const session of ['ses_away', 'ses_gone', 'ses_works']) hold(session)
  works.set('ses_works', Promise.resolve(true))
  away.add('ses_away')
  await settle()
  wait(hourMs - 1)
  await watch.look()
  expect(questions).toEqual([])
  wait(1)
  expect((await watch.look())! - clock.nowMs()).toBe(600_000)
  expect(questions).toHaveLength(3)
  expect(sessionsOf(world)).toEqual(['ses_away', 'ses_works'])
  // The others are asked again, an hour later; no session is told anything.
  await watch.look()
  expect(questions).toHaveLength(3)
  away.clear()
  works.clear()
  wait(hourMs)
  expect(await watch.look()).toBeUndefined()
  expect(sessionsOf(world)).toEqual([])
  expect([world.rows.credentials(), world.told, watch.isNeeded()]).toEqual([[], [], false])
})

it('G12: a session that comes with a run while it is asked stays, and is found when its key is revoked', async () => {
  const world = createWorld()
  const { hold, watch, works, wait, states, whom } = world
  hold('ses_1')
  const answer = Promise.withResolvers<boolean>()
  works.set('ses_1', answer.promise)
  wait(hourMs)
  const looking = watch.look()
  await settle()
  hold('ses_1') // in the place of one that was declined
  answer.resolve(false)
  await looking
  expect(sessionsOf(world)).toEqual(['ses_1'])
  states.set('key_1', revoked)
  await watch.look()
  expect(whom()).toEqual(['ses_1 key_1'])
})

it('G12: a clock that went back puts the question off by an hour at most', async () => {
  const { hold, watch, wait, questions } = createWorld()
  hold('ses_1')
  await settle()
  wait(-hourMs)
  await watch.look()
  expect(questions).toEqual(['ses_1 key_1'])
})
