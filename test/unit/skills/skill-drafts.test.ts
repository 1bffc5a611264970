import { describe, expect, it } from 'vitest'
import { saidLabel } from '../../../src/contracts/label.ts'
import { createRetention } from '../../../src/features/record/store/retention.ts'
import { createSkillDrafts } from '../../../src/features/skills/store/skill-drafts.ts'
import { createSqliteDatabase, planOf } from '../../fakes/sqlite-database.ts'

const dayMs = 86_400_000
const startMs = 1_000 * dayMs
const budget = { perRun: 5, perDay: 20 }
const room = { open: 500, openOfPrincipal: 50, mark: 0 }
const operator = { principal: 'operator', trace: 'aa', requestId: 'req_1' }

function open() {
  const { database, sqlite } = createSqliteDatabase()
  let nowMs = startMs
  const clock = { nowMs: () => nowMs }
  const store = createSkillDrafts(database, clock)
  const incidents: string[] = []
  const sweep = createRetention({
    database,
    clock,
    keep: { keepNamedMs: 1e12, keepStatelessMs: 1e12, keepDraftsMs: 30 * dayMs },
    tell: async ({ message }) => void (message && incidents.push(message)),
  })
  const writingOf = (call: string, atMs: number) => ({
    session: 'ses_1',
    run: 'run_1',
    call,
    principal: 'ann',
    agent: 'writer',
    atMs,
    tools: [],
    label: saidLabel,
    hash: `hash of ${call}`,
  })
  const textOf = (name: string) => ({
    name,
    description: `Does ${name}.`,
    requires: [],
    hash: `hash of ${name}`,
    sketch: name,
    files: { 'SKILL.md': `---\nname: ${name}\n---\nThe way.\n` },
  })
  const add = async (name: string, atMs = nowMs) => {
    const writing = writingOf(`call ${name}`, atMs)
    await store.take(writing, budget)
    const { mark } = await store.sketches()
    await store.add({ ...textOf(name), id: `drf_${name}` }, writing, { ...room, mark })
    return `drf_${name}`
  }
  const events = () =>
    sqlite
      .prepare(`SELECT type, principal, data FROM audit WHERE session = '' ORDER BY seq`)
      .all()
      .map(({ type, principal, data }) => [type, principal, JSON.parse(String(data))])
  const count = (table: string) =>
    sqlite.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count']
  const pass = (ms: number) => (nowMs += ms)
  return { store, sqlite, sweep, incidents, writingOf, textOf, add, events, count, pass }
}

describe('P9: drafts of skills', () => {
  it('are taken away when they were not promoted or written for as long as is set, each on the record', async () => {
    const { store, sweep, add, events, pass, incidents, writingOf } = open()
    const [old, again, promoted] = [await add('old'), await add('again'), await add('promoted')]
    await store.promote(promoted, 'hash of promoted', operator)
    pass(29 * dayMs)
    await sweep()
    expect(await store.list(10)).toHaveLength(3)
    const writing = writingOf('call 2', startMs + 29 * dayMs)
    await store.take(writing, budget)
    expect(await store.merge(again, writing, undefined)).toBe(true)
    pass(2 * dayMs)
    await sweep()
    expect((await store.list(10)).map(({ id }) => id)).toEqual([again, promoted])
    expect(events().slice(1)).toEqual([
      [
        'skill_draft_expired',
        '',
        { draft: old, name: 'old', hash: 'hash of old', lastAtMs: startMs },
      ],
    ])
    expect(incidents).toEqual([])
  })

  it('are taken away in any number', async () => {
    const { store, sweep, add, events, pass } = open()
    for (let at = 0; at < 45; at += 1) await add(`d${at}`)
    pass(31 * dayMs)
    await sweep()
    expect([await store.list(100), events().length]).toEqual([[], 45])
  })

  it('P10: are promoted as they were shown, and told of once', async () => {
    const { store, add, events } = open()
    const id = await add('way')
    expect(await store.promote(id, 'hash of another text', operator)).toBe(false)
    expect(await store.promote('drf_none', 'hash of way', operator)).toBe(false)
    expect(events()).toEqual([])
    expect(await store.promote(id, 'hash of way', operator)).toBe(true)
    expect(await store.promote(id, 'hash of way', operator)).toBe(false)
    expect(await store.find(id)).toMatchObject({
      state: 'promoted',
      promotedBy: 'operator',
      promotedAtMs: startMs,
    })
    const about = { draft: id, name: 'way', hash: 'hash of way', count: 1, label: saidLabel }
    expect(events()).toEqual([['skill_promoted', 'operator', { ...about, request: 'req_1' }]])
  })

  it('are removed with an event, and what was written counts for its day all the same', async () => {
    const { store, sweep, add, events, count, pass } = open()
    const id = await add('way')
    expect(await store.remove('drf_none', operator)).toBe(false)
    expect(await store.remove(id, operator)).toBe(true)
    expect(await store.find(id)).toBeUndefined()
    expect(events()).toEqual([
      [
        'skill_draft_removed',
        'operator',
        { draft: id, name: 'way', hash: 'hash of way', request: 'req_1' },
      ],
    ])
    await sweep()
    expect(count('skill_draft_writings')).toBe(1)
    pass(3 * dayMs)
    await sweep()
    expect(count('skill_draft_writings')).toBe(0)
  })

  it('are not added beside one that came meanwhile', async () => {
    const { store, add, writingOf, textOf } = open()
    const { mark } = await store.sketches()
    await add('first')
    const writing = writingOf('late', startMs)
    await store.take(writing, budget)
    const late = { ...textOf('late'), id: 'drf_late' }
    expect(await store.add(late, writing, { ...room, mark })).toBe('late')
    expect(await store.add(late, writing, { ...room, mark: mark + 1 })).toBeUndefined()
  })

  it('count the same call once, in whichever way it comes again', async () => {
    const { store, add, writingOf, textOf, count } = open()
    const id = await add('way')
    const writing = writingOf('call way', startMs)
    expect(await store.take(writing, budget)).toBeUndefined()
    expect(await store.add({ ...textOf('way'), id }, writing, room)).toBeUndefined()
    expect(await store.merge(id, writing, undefined)).toBe(true)
    expect(await store.find(id)).toMatchObject({ count: 1, writings: [{ call: 'call way' }] })
    expect(count('skill_draft_writings')).toBe(1)
  })

  it('are no longer written to once they were promoted', async () => {
    const { store, add, writingOf, textOf } = open()
    const id = await add('way')
    await store.promote(id, 'hash of way', operator)
    const writing = writingOf('again', startMs)
    await store.take(writing, budget)
    expect(await store.merge(id, writing, textOf('other'))).toBe(false)
    expect(await store.find(id)).toMatchObject({ name: 'way', count: 1 })
  })

  it('F36: are counted by an index', () => {
    const { sqlite } = open()
    const ofRun = 'SELECT count(*) FROM skill_draft_writings WHERE run = ?'
    const ofDay = 'SELECT count(*) FROM skill_draft_writings WHERE principal = ? AND at_ms >= ?'
    expect(planOf(sqlite, ofRun)).toContain('SEARCH')
    expect(planOf(sqlite, ofDay)).toMatch(/SEARCH .* skill_draft_writings_by_day/)
  })
})
