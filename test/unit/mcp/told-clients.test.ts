import { describe, expect, it } from 'vitest'
import { joinLabels, labelFrom, saidLabel } from '#contracts/label.ts'
import type { StorageRequest } from '#contracts/space.ts'
import { createToldClients } from '../../../src/surfaces/mcp/told-clients.ts'
import { createSpace } from '../../../src/runtime/session/storage/space.ts'
import { createSessionWorld } from '../../switches/session-world.ts'

const page = labelFrom('http__get', { confidentiality: 'public' })
const notes = labelFrom('kv__get', { integrity: 'data' })
const ann = { id: 'ann', key: 'key_1' }
const dayMs = 24 * 3_600_000

function setUp() {
  const { storage, clock } = createSessionWorld({ script: [] })
  const space = createSpace(storage, clock)
  const asked: StorageRequest[] = []
  const clients = createToldClients(
    () => async (request) => (asked.push(request), space(request)),
    clock,
  )
  const rows = () =>
    space({ verb: 'list', space: 'mcp-clients', prefix: '', limit: 1_000 }).keys!.length
  return { clients, clock, rows, sets: () => asked.filter(({ verb }) => verb === 'set').length }
}

describe('what an MCP client was given', () => {
  it('T11: is in what it says next, whichever call it was, and in no other client’s', async () => {
    const { clients } = setUp()
    await Promise.all([clients.tell(ann, page), clients.tell(ann, notes)])
    expect(await clients.said(ann)).toEqual(joinLabels([saidLabel, page, notes]))
    expect(await clients.said({ id: 'ann', key: 'key_2' })).toEqual(saidLabel)
    expect(await clients.said({ id: 'ann', key: 'key_1', grant: 'grant_1' })).toEqual(saidLabel)
  })

  it('counts for that day and the next', async () => {
    const { clients, clock } = setUp()
    await clients.tell(ann, page)
    await clock.advance(dayMs)
    expect(await clients.said(ann)).toEqual(joinLabels([saidLabel, page]))
    await clients.tell(ann, page)
    for (const expected of [joinLabels([saidLabel, page]), saidLabel]) {
      await clock.advance(dayMs)
      expect(await clients.said(ann)).toEqual(expected)
    }
  })

  it('T11: is forgotten by nothing that comes later at the same level, on another day or beside it', async () => {
    const { clients, clock } = setUp()
    const [crm, mail, bank] = ['crm__x', 'mail__x', 'bank__x'].map((from) => labelFrom(from))
    await clients.tell(ann, crm)
    await clock.advance(dayMs)
    await Promise.all([clients.tell(ann, mail), clients.tell(ann, bank)])
    expect(await clients.said(ann)).toEqual(joinLabels([saidLabel, crm, mail, bank]))
    await clock.advance(dayMs)
    expect(await clients.said(ann)).toEqual(joinLabels([saidLabel, mail, bank]))
  })

  it('is removed when its days are over, also that of a key that is not used any more', async () => {
    const { clients, clock, rows } = setUp()
    for (let day = 0; day < 30; day += 1) {
      await clients.tell({ id: 'ann', key: `key_${day % 10}` }, page)
      await clock.advance(dayMs)
    }
    expect(rows()).toBeLessThan(5)
  })

  it('is written once, and not at all where it is the user’s own', async () => {
    const { clients, sets } = setUp()
    await clients.tell(ann, saidLabel)
    expect(sets()).toBe(0)
    for (let count = 0; count < 3; count += 1) await clients.tell(ann, page)
    expect(sets()).toBe(2)
  })

  it('is the worst where it cannot be read', async () => {
    const fail = () => async () => Promise.reject(new Error('gone'))
    const clients = createToldClients(fail, { nowMs: () => 0, sleep: async () => {} })
    const worst = { integrity: 'stranger', confidentiality: 'private' }
    expect(await clients.said(ann)).toMatchObject(worst)
    await expect(clients.tell(ann, page)).rejects.toThrow('gone')
  })
})
