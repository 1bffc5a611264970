import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSets, toDocument } from '../../bench/search/data.ts'
import { foldsOf } from '../../bench/search/folds.ts'
import { createPlainFts } from '../../bench/search/plain-fts.ts'
import { meanOf, scoreOf } from '../../bench/search/scores.ts'
import { createSearchIndex } from '../../src/runtime/catalog/search/search-index.ts'

const sample = join(import.meta.dirname, '../../bench/search/sample')

test('the search finds every tool of the sample in the first five, and is no worse than plain FTS5', () => {
  const [set] = loadSets(sample)
  const { tools, queries } = set!
  const index = createSearchIndex(tools.map(toDocument))
  const plain = createPlainFts(tools, ' OR ')
  const own = meanOf(
    queries.map((one) =>
      scoreOf(
        one,
        index.search([one.query], 20).map(({ id }) => id),
      ),
    ),
  )
  const theirs = meanOf(queries.map((one) => scoreOf(one, plain(one.query, 20))))
  expect(own['recall@5']).toBe(100)
  expect(own.MRR).toBeGreaterThanOrEqual(theirs.MRR)
})

test('a score counts a group of equal tools once, and a miss as nothing', () => {
  const query = { id: 'q', query: '', relevant: ['a', 'b', 'c'], any_of: [['a', 'b'], ['c']] }
  expect(scoreOf(query, ['x', 'b', 'a'])).toMatchObject({ 'recall@1': 0, 'recall@5': 50, MRR: 50 })
})

test('no two folds share a relevant tool', () => {
  const queries = Array.from({ length: 40 }, (_, n) => ({
    id: `${n}`,
    query: '',
    relevant: [`t${n % 9}`, `u${n % 3}`],
  }))
  const folds = foldsOf(queries)
  const tools = folds.map((fold) => new Set(fold.flatMap(({ relevant }) => relevant)))
  expect(folds.flat()).toHaveLength(40)
  expect(new Set(tools.flatMap((one) => [...one])).size).toBe(
    tools.reduce((sum, one) => sum + one.size, 0),
  )
})

test('a folder without a set is refused by name', () => {
  expect(() => loadSets(import.meta.dirname)).toThrow(/no tools\.jsonl/)
})
