import { describe, expect, it } from 'vitest'
import type {
  ItemPlace,
  SaidItem,
  SessionTree,
  TreeQuery,
} from '#runtime/session/types/session-view.ts'
import { treeOf } from '../../../src/runtime/session/log/tree.ts'
import { viewOf } from '../../../src/runtime/session/log/views.ts'
import { takeDelivery } from '../../../src/runtime/session/waiting/outside.ts'
import { itemsPage } from '../../../src/runtime/session/responses/items.ts'
import { createSessionWorld, session } from '../../switches/session-world.ts'

const say = (text: string) => ({ role: 'user', text, taint: ['user'] }) as const

/** A session of so many runs, each of which says so many characters. */
async function longSession(runs: number, chars: number) {
  const world = createSessionWorld({ script: () => ({ text: 'x'.repeat(chars) }) })
  const life = world.wake()
  for (let run = 1; run <= runs; run += 1) await life.run({ messages: [say(`ask ${run}`)] })
  return { ...world, life }
}

/** The most runs that are read in one statement. */
function watchReads(storage: DurableObjectStorage) {
  const reads = { most: 0 }
  const exec = storage.sql.exec.bind(storage.sql)
  Object.assign(storage.sql, {
    exec: (query: string, ...values: unknown[]) => {
      const cursor = exec(query, ...values)
      const rows = cursor.toArray()
      if (query.includes('*') || query.includes('body'))
        reads.most = Math.max(reads.most, rows.length)
      return cursor
    },
  })
  return reads
}

describe('a long session', () => {
  it('I16: gives its items a page at a time, in both orders, and reads no more than the page', async () => {
    const { life, storage, wake } = await longSession(60, 10)
    const reads = watchReads(storage)
    for (const order of ['asc', 'desc'] as const) {
      const all: SaidItem[] = []
      for (let after: ItemPlace | undefined; ;) {
        const page = itemsPage(life.store, { order, limit: 7, ...(after && { after }) })
        expect(page.items.length).toBe(page.hasMore ? 7 : page.items.length)
        all.push(...page.items)
        if (!page.hasMore) break
        after = page.items.at(-1)!
      }
      expect(all).toHaveLength(120)
      const asked = all.flatMap((item) => ('role' in item && item.role === 'user' ? item.text : []))
      const expected = Array.from({ length: 60 }, (_, index) => `ask ${index + 1}`)
      expect(asked).toEqual(order === 'asc' ? expected : expected.reverse())
    }
    expect(itemsPage(wake().store, { order: 'desc', limit: 2 }).hasMore).toBe(true)
    expect(reads.most).toBeLessThan(5)
    const unknown = { type: 'message', run: 'run_nobody', key: 'i0' } as const
    expect(() => itemsPage(life.store, { order: 'asc', limit: 7, after: unknown })).toThrow('after')
  })

  it('I10: reads a few of its runs for what came of a call, or for the cancel of one', async () => {
    const { life, storage } = await longSession(60, 10)
    const { id: parentRun } = life.store.runs()[2]!
    let reads = 0
    const exec = storage.sql.exec.bind(storage.sql)
    Object.assign(storage.sql, {
      exec: (query: string, ...values: unknown[]) => {
        const cursor = exec(query, ...values)
        if (query.includes('FROM log')) reads += cursor.toArray().length
        return cursor
      },
    })
    const about = { agent: 'child', session: 'ses_child', isBackground: true } as const
    const result = { ok: true, output: 'found', taint: [] } as const
    takeDelivery({ ...about, parentRun, call: 'call_1', onOutcome: 'run', result }, life)
    expect(life.row(parentRun).inbox).toMatchObject([{ begins: true }])
    expect(reads).toBeLessThan(12)
    reads = 0
    expect(life.runs.cancelCall('run_above', 'call_1', 'enough')).toEqual([])
    expect(reads).toBeLessThan(24)
  })

  it('I16: gives what was said in pages of a bounded size', async () => {
    const { life, storage } = await longSession(12, 900_000)
    const reads = watchReads(storage)
    const texts: string[] = []
    let pages = 0
    for (let after: number | undefined = 0; after !== undefined; pages += 1) {
      const { messages, next } = life.transcript.page(after)
      expect(JSON.stringify(messages).length).toBeLessThan(2_500_000)
      texts.push(...messages.flatMap((one) => (one.role === 'user' ? one.text : [])))
      after = next
    }
    expect(texts).toEqual(Array.from({ length: 12 }, (_, index) => `ask ${index + 1}`))
    expect(pages).toBe(6)
    expect(reads.most).toBeLessThan(5)
  })

  it('I16: shows its last runs, the earlier ones on request, and what all of them have spent', async () => {
    const { life, runtime, storage } = await longSession(130, 10)
    const reads = watchReads(storage)
    const treeAt = (query: Parameters<typeof treeOf>[0]['query']): Promise<SessionTree> =>
      treeOf({
        session: life.store.session()!,
        parts: life,
        sessions: runtime.sessions,
        query,
        viewOf: (row) => viewOf(row, { ...life, runtime, session }),
      })
    const last = await treeAt({})
    expect([last.runs.length, last.earlier]).toEqual([100, last.runs[0]!.id])
    expect(last.usage.tokens).toBe(130 * 110)
    const first = await treeAt({ before: last.earlier! })
    expect([first.runs.length, first.earlier]).toEqual([30, undefined])
    expect(first.usage.tokens).toBe(130 * 110)
    const few = await treeAt({ limit: 5 })
    expect(few.runs.map(({ id }) => id)).toEqual(last.runs.slice(-5).map(({ id }) => id))
    expect(reads.most).toBeLessThan(20)
  })
})

describe('a tree of many large children', () => {
  const child = (id: string, chars: number): SessionTree =>
    ({ id, runs: [{ result: 'x'.repeat(chars) }], children: [] }) as unknown as SessionTree
  /** A session with so many children, each of which has a run of so many characters. */
  async function aboveMany(count: number, chars: number) {
    const world = createSessionWorld({ script: () => ({ text: 'hi' }) })
    const life = world.wake()
    await life.run()
    await life.run()
    const begun = (run: number) =>
      Array.from({ length: count / 2 }, (_, place) => ({
        session: `ses_${run}_${place}`,
        place: 1_000_000_000 + place, // of the first turn
        call: `call_${place}`,
        agent: 'reviewer',
        isBackground: false,
      }))
    for (const run of [1, 2]) life.children.add(run, begun(run))
    const all = [...begun(1), ...begun(2)].map((one) => one.session)
    const asked: (number | undefined)[] = []
    Object.assign(world.runtime.sessions, {
      at: (id: string) => ({
        async tree(_principal: string, query: TreeQuery = {}) {
          asked.push(query.maxChars)
          if (id === 'ses_1_1') throw new Error('cannot be reached')
          return { ok: true, value: child(id, chars) }
        },
      }),
    })
    const treeAt = (query: TreeQuery): Promise<SessionTree> =>
      treeOf({
        session: life.store.session()!,
        parts: life,
        sessions: world.runtime.sessions,
        query,
        viewOf: (row) => viewOf(row, { ...life, runtime: world.runtime, session }),
      })
    return { treeAt, asked, all: all.filter((id) => id !== 'ses_1_1') }
  }

  it('I16: comes in pages of a bounded size, each child once and in order, but for one that cannot be reached', async () => {
    const { treeAt, all } = await aboveMany(60, 300_000)
    const seen: string[] = []
    let query: TreeQuery = {}
    for (let page = await treeAt(query); ; page = await treeAt(query)) {
      expect(JSON.stringify(page).length).toBeLessThan(1_500_000)
      seen.push(...page.children.map(({ id }) => id))
      if (page.moreChildren === undefined) break
      query = { fromChild: page.moreChildren }
    }
    expect(seen).toEqual(all)
  })

  it('I16: gives each page at least one, however large, and no runs with what follows the first', async () => {
    const { treeAt } = await aboveMany(4, 2_000_000)
    const first = await treeAt({})
    expect([first.runs.length, first.children.length, first.moreChildren]).toEqual([
      2,
      0,
      'ses_1_0',
    ])
    const second = await treeAt({ fromChild: 'ses_1_0' })
    expect(second.runs).toEqual([])
    expect(second.children.map(({ id }) => id)).toEqual(['ses_1_0'])
    expect(second.moreChildren).toBe('ses_2_0')
  })

  it('I16: asks each child for no more than its part of what is left, and none where nothing is', async () => {
    const { treeAt, asked } = await aboveMany(60, 10)
    const whole = await treeAt({})
    expect(whole.moreChildren).toBeUndefined()
    expect(Math.max(...asked.map(Number))).toBeLessThanOrEqual(125_000)
    asked.length = 0
    const cut = await treeAt({ maxChars: 1 })
    expect([cut.children, cut.moreChildren, asked]).toEqual([[], 'ses_2_0', []])
  })
})
