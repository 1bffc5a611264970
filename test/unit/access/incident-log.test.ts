import { describe, expect, it } from 'vitest'
import type { Incident } from '../../../src/runtime/session/types/principal.ts'
import { createIncidentLog } from '../../../src/features/access/incident-log.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'

const incident = (session: string, more: Partial<Incident> = {}): Incident => ({
  kind: 'audit_behind',
  session,
  message: `of ${session}`,
  ...more,
})
const open = () => createIncidentLog(createPrincipalStorage())

describe('the log of incidents', () => {
  it('N12: counts the same one up, keeps its first and last time and what was said last', () => {
    const log = open()
    log.report(incident('ses_a'), 10)
    log.report(incident('ses_a', { message: 'worse', run: 'run_1' }), 20)
    log.report(incident('ses_a', { kind: 'storage_failed' }), 15)
    expect(log.list(10)).toEqual([
      {
        kind: 'storage_failed',
        session: 'ses_a',
        message: 'of ses_a',
        count: 1,
        firstAtMs: 15,
        lastAtMs: 15,
      },
      {
        kind: 'audit_behind',
        session: 'ses_a',
        run: 'run_1',
        message: 'worse',
        count: 2,
        firstAtMs: 10,
        lastAtMs: 20,
      },
    ])
  })

  it('removes what is over, once or twice, and nothing else', () => {
    const log = open()
    log.report(incident('ses_a', { isOver: true }), 1)
    log.report(incident('ses_a'), 2)
    log.report(incident('ses_b'), 3)
    log.report(incident('ses_a', { isOver: true }), 4)
    log.report(incident('ses_a', { isOver: true }), 5)
    expect(log.list(10).map(({ session }) => session)).toEqual(['ses_b'])
  })

  it('keeps the last 200, by when they were last said, whatever the clock says', () => {
    const log = open()
    for (let index = 0; index < 250; index += 1) log.report(incident(`ses_${index}`), 1_000 - index)
    log.report(incident('ses_50'), 0)
    log.report(incident('ses_new'), 0)
    const kept = log.list(500).map(({ session }) => session)
    expect(kept).toHaveLength(200)
    expect(kept.slice(0, 3)).toEqual(['ses_new', 'ses_50', 'ses_249'])
    expect(kept).not.toContain('ses_51')
    expect(log.list(2)).toHaveLength(2)
  })

  it('cuts a message that is too long, and makes no table before there is something to keep', () => {
    const storage = createPrincipalStorage()
    const log = createIncidentLog(storage)
    expect(log.list(10)).toEqual([])
    log.report(incident('ses_a', { isOver: true }), 1)
    expect(storage.sql.exec('SELECT name FROM sqlite_master').toArray()).toEqual([])
    log.report(incident('ses_a', { message: 'x'.repeat(5_000) }), 1)
    expect(log.list(1)[0]?.message).toHaveLength(1_000)
  })
})
