import { describe, expect, it } from 'vitest'
import { saidLabel } from '#contracts/label.ts'
import type { ExportOutcome, RunRecord, Telemetry } from '#runtime/session/types/telemetry.ts'
import { createSessionWorld, never, settle } from '../../switches/session-world.ts'

const away: ExportOutcome = { ok: false, message: 'The collector is away.', isFinal: false }
const refused: ExportOutcome = { ok: false, message: 'The collector answered 401.', isFinal: true }

function setUp(answer: () => Promise<ExportOutcome>, capturesContent = false) {
  const records: RunRecord[] = []
  const telemetry: Telemetry = {
    capturesContent,
    export: (record) => (records.push(record), answer()),
  }
  const world = createSessionWorld({ script: () => ({ text: 'ANSWER' }), telemetry })
  const troubles = () => world.told.filter(({ kind }) => kind === 'telemetry_failed')
  return { world, records, troubles }
}

const triesOf = ({ sqlite }: ReturnType<typeof createSessionWorld>) =>
  Number(sqlite.prepare(`SELECT body FROM todo WHERE key LIKE '%trace %'`).get()?.['body'])

describe('the trace of a run', () => {
  it('N7: is exported once the run is over, with its rows and who asked for it', async () => {
    const { world, records } = setUp(async () => ({ ok: true }))
    const object = world.wake()
    const traceLink = { span: 'abcdef0123456789', isSampled: true }
    await object.run({ traceLink })
    await settle()
    expect(records).toHaveLength(1)
    const [record] = records
    expect(record).toMatchObject({ session: 'ses_1', agent: 'tester', link: traceLink })
    expect(record?.final).toMatchObject({ id: record?.run, state: 'completed' })
    expect(record?.turns).toHaveLength(1)
    expect(record).not.toHaveProperty('content')
    expect(object.traces.isDone()).toBe(true)
  })

  it('P29: comes with what was said only where that is captured', async () => {
    const { world, records } = setUp(async () => ({ ok: true }), true)
    const object = world.wake()
    await object.run()
    await object.run()
    await settle()
    expect(records[1]?.content).toEqual({
      instructions: 'You test.',
      messages: [
        { role: 'user', text: 'go', taint: ['user'] },
        { role: 'assistant', text: 'ANSWER', taint: ['model'], label: saidLabel },
        { role: 'user', text: 'go', taint: ['user'] },
      ],
    })
  })

  it('is not exported if the sender of the trace does not record it', async () => {
    const { world, records } = setUp(async () => ({ ok: true }))
    const object = world.wake()
    await object.run({ traceLink: { span: 'abcdef0123456789', isSampled: false } })
    await settle()
    expect(records).toEqual([])
    expect(object.traces.isDone()).toBe(true)
  })

  it('is on record with the end of the run: after a crash another life exports it, the same', async () => {
    let answer: Promise<ExportOutcome> = never
    const { world, records } = setUp(() => answer)
    await world.wake().run()
    await settle()
    answer = Promise.resolve({ ok: true })
    const later = world.wake()
    await later.upkeep.onJob('recover')
    await settle()
    expect(records).toHaveLength(2)
    expect(records[1]).toEqual(records[0])
    expect(later.traces.isDone()).toBe(true)
  })

  it('that a collector does not take holds up neither its run, nor the next, nor what others are owed', async () => {
    const { world, records } = setUp(() => never)
    const object = world.wake()
    expect(await object.run()).toMatchObject({ state: 'completed' })
    expect(await object.run()).toMatchObject({ state: 'completed' })
    await object.upkeep.onJob('recover')
    expect(object.courier.isDone()).toBe(true)
    expect(object.outbox.isEmpty()).toBe(true)
    expect(records).toHaveLength(1)
  })

  it('is tried five times, less and less often, then dropped and told', async () => {
    const { world, records, troubles } = setUp(async () => away)
    const object = world.wake()
    await object.run()
    await settle()
    const waits: number[] = []
    for (let tries = 2; tries <= 5; tries += 1) {
      expect(troubles()).toEqual([])
      const next = await object.upkeep.onJob('recover')
      waits.push(next! - world.clock.nowMs())
      await settle()
    }
    expect(records).toHaveLength(5)
    expect(waits).toEqual([20_000, 40_000, 80_000, 160_000])
    expect(troubles()).toMatchObject([
      { run: records[0]?.run, message: 'The trace of a run was dropped. The collector is away.' },
    ])
    expect(object.traces.isDone()).toBe(true)
    expect(await object.upkeep.onJob('recover')).toBeUndefined()
  })

  it('F36: whose export ends the object each time is tried five times, then dropped and told', async () => {
    const { world, records, troubles } = setUp(() => never)
    await world.wake().run()
    await settle()
    for (let life = 2; life <= 10; life += 1) {
      await world.wake().upkeep.onJob('recover')
      await settle()
    }
    expect(records).toHaveLength(5)
    const message = 'The trace of a run was dropped. No export of it came to an end.'
    expect(troubles()).toMatchObject([{ run: records[0]?.run, message }])
    expect(await world.wake().upkeep.onJob('recover')).toBeUndefined()
  })

  it('F36: has its try on record, and synced, before it goes out', async () => {
    const { world } = setUp(() => never)
    const steps: string[] = []
    Object.assign(world.storage, { sync: async () => void steps.push(`sync ${triesOf(world)}`) })
    const { telemetry } = world.runtime
    Object.assign(telemetry!, { export: () => (steps.push('export'), never) })
    await world.wake().run()
    await settle()
    expect(steps[steps.indexOf('export') - 1]).toBe('sync 1')
  })

  it('F36: of another run goes out before the one that ended the object', async () => {
    const { world, records } = setUp(() => never)
    await world.wake().run()
    await settle()
    const later = world.wake()
    const { id } = await later.run()
    await settle()
    expect(records).toHaveLength(1) // a tried record, and one that waits with it, are for the recovery job
    await later.upkeep.onJob('recover')
    await settle()
    expect(records.map(({ run }) => run === id)).toEqual([false, true])
  })

  it('waits for its next try in time, however many runs end meanwhile', async () => {
    let outcome: ExportOutcome = away
    const { world, records, troubles } = setUp(async () => outcome)
    const object = world.wake()
    for (let run = 1; run <= 7; run += 1) {
      await object.run()
      await settle()
    }
    expect(records).toHaveLength(1)
    expect(troubles()).toEqual([])
    outcome = { ok: true }
    await world.wake().upkeep.onJob('recover')
    await settle()
    expect(new Set(records.map(({ run }) => run)).size).toBe(7)
  })

  it.each([
    ['what is to be sent', /^SELECT key, body FROM todo WHERE key LIKE/],
    ['that it is tried', /^INSERT OR REPLACE INTO todo/],
    ['the turns', /^SELECT \* FROM log WHERE run = \? AND turn > 0/],
  ])('F7: goes out later if the storage fails once over %s', async (_what, failing) => {
    let answer: Promise<ExportOutcome> = never
    const { world, records } = setUp(() => answer)
    await world.wake().run()
    await settle()
    answer = Promise.resolve({ ok: true })
    const life = world.wake()
    let isBroken = true
    world.failWhere((query) => isBroken && failing.test(query) && !(isBroken = false))
    for (let job = 0; job < 3; job += 1) {
      await life.upkeep.onJob('recover')
      await settle()
    }
    expect(isBroken).toBe(false)
    expect(records).toHaveLength(2)
    expect(life.traces.isDone()).toBe(true)
  })

  it('F7: that cannot be read harms no run that is over', async () => {
    const { world, records } = setUp(async () => ({ ok: true }))
    const object = world.wake()
    world.failWhere((query) => query.startsWith('SELECT key, body FROM todo WHERE key LIKE'))
    expect(await object.run()).toMatchObject({ state: 'completed' })
    expect(world.settled).toHaveLength(1)
    world.failWhere(() => false)
    await object.upkeep.onJob('recover')
    await settle()
    expect(records).toHaveLength(1)
  })

  it('that is refused for good is dropped and told at once, and the end of that is told too', async () => {
    let outcome: ExportOutcome = refused
    const { world, records, troubles } = setUp(async () => outcome)
    const object = world.wake()
    await object.run()
    await settle()
    expect(records).toHaveLength(1)
    expect(troubles()).toMatchObject([{ message: expect.stringContaining('401') as string }])
    outcome = { ok: true }
    await object.run()
    await settle()
    expect(troubles().at(-1)).toMatchObject({ isOver: true })
  })

  it('costs nothing where there is no collector', async () => {
    const world = createSessionWorld({ script: () => ({ text: 'ANSWER' }) })
    await world.wake().run()
    const tables = world.sqlite.prepare(`SELECT name FROM sqlite_master WHERE name = 'todo'`).all()
    expect(tables).toEqual([])
  })
})
