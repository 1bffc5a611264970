import { describe, expect, it } from 'vitest'
import { joinLabels, labelFrom, saidLabel } from '#contracts/label.ts'
import type { StorageRequest } from '#contracts/space.ts'
import { createToldClients } from '../../../../src/http/mcp/told-clients.ts'
import { createSpace } from '../../../../src/sessions/storage/space.ts'
import { createSessionWorld } from '../../../switches/session-world.ts'

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
  return { clients, clock, sets: () => asked.filter(({ verb }) => verb === 'set').length }
}

describe('what an MCP client was given', () => {
  it('T11: is in what it says next, whichever call it was, and in nobody else’s', async () => {
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

  it('is written once, and not at all where it is the user’s own', async () => {
    const { clients, sets } = setUp()
    await clients.tell(ann, saidLabel)
    expect(sets()).toBe(0)
    for (let count = 0; count < 3; count += 1) await clients.tell(ann, page)
    expect(sets()).toBe(2)
  })

  it('is the worst where nobody can say it', async () => {
    const fail = () => async () => Promise.reject(new Error('gone'))
    const clients = createToldClients(fail, { nowMs: () => 0, sleep: async () => {} })
    const worst = { integrity: 'stranger', confidentiality: 'private' }
    expect(await clients.said(ann)).toMatchObject(worst)
    await expect(clients.tell(ann, page)).rejects.toThrow('gone')
  })
})
