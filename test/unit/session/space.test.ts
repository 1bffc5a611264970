import { describe, expect, it } from 'vitest'
import { joinLabels, labelFrom, saidLabel, type Label } from '#contracts/label.ts'
import type { Space, StorageRequest } from '#contracts/space.ts'
import { createSpace } from '../../../src/runtime/session/storage/space.ts'
import { createSessionWorld } from '../../switches/session-world.ts'

const quotaBytes = 8_000

function setUp() {
  const { storage, clock, failWhere } = createSessionWorld({ script: [] })
  const sums = { count: 0 }
  const exec = storage.sql.exec.bind(storage.sql)
  Object.assign(storage.sql, {
    exec: (query: string, ...values: unknown[]) => {
      if (query.includes('sum(')) sums.count += 1
      return exec(query, ...values)
    },
  })
  const ask = createSpace(storage, clock)
  const set = (key: string, chars: number, more: Partial<StorageRequest> = {}) =>
    ask({
      verb: 'set',
      space: 's',
      key,
      value: 'x'.repeat(chars),
      quotaBytes,
      ...more,
    } as StorageRequest)
  const keys = () => ask({ verb: 'list', space: 's', prefix: '', limit: 1_000 }).keys
  const { sql } = storage
  return { ask, set, keys, clock, sums, sql, failWhere, anew: () => createSpace(storage, clock) }
}

describe('a space', () => {
  it('adds up what it holds once, and knows it from then on', () => {
    const { ask, set, sums, anew } = setUp()
    for (let count = 0; count < 7; count += 1)
      expect(set(`k${count}`, 998)).toEqual({ found: true })
    expect(set('k7', 999)).toMatchObject({ error: expect.stringContaining('used up') })
    expect(set('k7', 998)).toEqual({ found: true })
    expect(set('k0', 998)).toEqual({ found: true })
    expect(set('k8', 1)).toMatchObject({ error: expect.stringContaining('used up') })
    ask({ verb: 'delete', space: 's', key: 'k3' })
    expect(set('k8', 998)).toEqual({ found: true })
    expect(set('k9', 1)).toMatchObject({ error: expect.stringContaining('used up') })
    expect(sums.count).toBe(1)
    // Another life of its object comes to the same.
    const again = { verb: 'set', space: 's', key: 'k9', value: 'x', quotaBytes } as const
    expect(anew()(again)).toMatchObject({ error: expect.stringContaining('used up') })
  })

  it('lists the keys that begin so, whatever signs they begin with', () => {
    const { ask, set } = setUp()
    for (const key of ['a', 'ab', 'abc', 'ac', '\u{1f600}', '\u{1f600}b']) set(key, 1)
    const list = (prefix: string) => ask({ verb: 'list', space: 's', prefix, limit: 9 }).keys
    expect(list('ab')).toEqual(['ab', 'abc'])
    expect(list('\u{1f600}')).toEqual(['\u{1f600}', '\u{1f600}b'])
  })

  it('has the oldest values go first where it is told to, and keeps what it was just given', async () => {
    const { set, keys, clock, ask } = setUp()
    for (let count = 0; count < 8; count += 1) {
      set(`k${9 - count}`, 998, { evicts: true })
      await clock.advance(1)
    }
    expect(set('new', 998, { evicts: true })).toEqual({ found: true })
    expect(keys()).toEqual(['k2', 'k3', 'k4', 'k5', 'k6', 'k7', 'new'])
    expect(ask({ verb: 'get', space: 's', key: 'k9' })).toEqual({ found: false })
    expect(set('larger than all of it', 9_000, { evicts: true })).toMatchObject({
      error: expect.stringContaining('used up'),
    })
    expect(keys()).toHaveLength(7)
  })

  it('keeps the old values, and counts them, where the new one cannot be written', () => {
    const { set, keys, failWhere, sums } = setUp()
    for (let count = 0; count < 8; count += 1) set(`k${count}`, 998, { evicts: true })
    const before = keys()
    failWhere((query) => query.startsWith('INSERT'))
    expect(() => set('new', 998, { evicts: true })).toThrow('SQLITE_FULL')
    failWhere(() => false)
    expect(keys()).toEqual(before)
    expect(set('new', 998)).toMatchObject({ error: expect.stringContaining('used up') })
    expect(set('new', 998, { evicts: true })).toEqual({ found: true })
    expect(sums.count).toBe(1)
  })

  it('adds up what it holds once, also where it refuses', () => {
    const { set, sums, anew, ask } = setUp()
    for (let count = 0; count < 8; count += 1) set(`k${count}`, 998)
    const fresh = anew()
    sums.count = 0
    for (let count = 0; count < 3; count += 1) {
      const answer = fresh({ verb: 'set', space: 's', key: 'more', value: 'x', quotaBytes })
      expect(answer).toMatchObject({ error: expect.stringContaining('used up') })
    }
    expect(sums.count).toBe(1)
    expect(ask({ verb: 'get', space: 's', key: 'more' })).toEqual({ found: false })
  })

  describe('labels what is kept', () => {
    const page = labelFrom('http__get news.example', { confidentiality: 'public' })
    const worst = { integrity: 'stranger', confidentiality: 'private' }
    const labelOf = (ask: Space, key: string) => ask({ verb: 'get', space: 's', key }).label

    it('T23: each value by what had been read then, until it is overwritten or gone', () => {
      const { ask, set, anew } = setUp()
      set('own', 1, { label: saidLabel })
      set('page', 1, { label: page })
      expect(labelOf(ask, 'own')).toEqual(saidLabel)
      expect(labelOf(anew(), 'page')).toEqual(page)
      const all = ask({ verb: 'list', space: 's', prefix: '', limit: 9 }).label
      expect(all).toEqual(joinLabels([saidLabel, page]))
      expect(ask({ verb: 'list', space: 's', prefix: 'o', limit: 9 }).label).toEqual(saidLabel)
      set('page', 1, { label: saidLabel })
      expect(labelOf(ask, 'page')).toEqual(saidLabel)
      set('page', 1, { label: page })
      ask({ verb: 'delete', space: 's', key: 'page' })
      expect(ask({ verb: 'list', space: 's', prefix: '', limit: 9 }).label).toEqual(saidLabel)
    })

    it('a value that was stored without a label has the worst', () => {
      const { ask, set, sql } = setUp()
      set('unknown', 1)
      expect(labelOf(ask, 'unknown')).toMatchObject(worst)
      set('mine', 1, { label: saidLabel })
      sql.exec(`UPDATE items SET label = NULL WHERE key = 'mine'`)
      expect(labelOf(ask, 'mine')).toMatchObject(worst)
      ask({ verb: 'claim', space: 's', key: 'claimed', value: 'x' })
      expect(labelOf(ask, 'claimed')).toMatchObject(worst)
    })

    it('a value and its label are written together, or the old ones stay', () => {
      const { ask, set, failWhere } = setUp()
      set('mine', 1, { label: page })
      failWhere((query) => query.startsWith('INSERT') && query.includes('items'))
      expect(() => set('mine', 2, { label: saidLabel })).toThrow('SQLITE_FULL')
      failWhere(() => false)
      expect(ask({ verb: 'get', space: 's', key: 'mine' })).toEqual({
        found: true,
        value: 'x',
        label: page,
      })
    })

    it('C6: entries may have so many characters together: the oldest go, the newest stays', () => {
      const { ask } = setUp()
      const bounds = { maxEntries: 9, maxChars: 12 }
      for (const text of ['one', 'two', 'three'])
        ask({ verb: 'append', space: 'm', text, label: page, ...bounds })
      const texts = () =>
        ask({ verb: 'entries', space: 'm', limit: 9 }).entries?.map(({ text }) => text)
      expect(texts()).toEqual(['two', 'three'])
      ask({ verb: 'append', space: 'm', text: 'x'.repeat(20), ...bounds })
      expect(texts()).toEqual(['x'.repeat(20)])
    })

    it('nothing but what is gone loses its label', () => {
      const { ask, set, sql } = setUp()
      for (const key of ['a', 'b', 'c']) set(key, 998, { label: page })
      for (let count = 0; count < 4; count += 1)
        ask({ verb: 'append', space: 'm', text: 'x', maxEntries: 2, label: page })
      ask({ verb: 'delete', space: 's', key: 'a' })
      ask({ verb: 'append', space: 'm', text: 'x', maxEntries: 2, label: page })
      const left = [...sql.exec('SELECT key FROM items WHERE label IS NOT NULL')].map(
        ({ key }) => key,
      )
      expect(left).toEqual(['0000000004', '0000000005', 'b', 'c'])
    })

    it('entries together, as long as the worst of them is there', () => {
      const { ask } = setUp()
      const append = (label: Label) =>
        ask({ verb: 'append', space: 'm', text: 'x', maxEntries: 2, label })
      const label = () => ask({ verb: 'entries', space: 'm', limit: 9 }).label
      append(page)
      append(saidLabel)
      expect(label()).toEqual(joinLabels([saidLabel, page]))
      append(saidLabel)
      expect(label()).toEqual(saidLabel)
    })
  })
})
