import { describe, expect, it } from 'vitest'
import {
  createRankedIndex,
  createSearchIndex,
} from '../../../src/runtime/catalog/search/search-index.ts'
import {
  shippedRanking,
  splitExclusions,
} from '../../../src/runtime/catalog/search/read-document.ts'

const document = (id: string, description: string, body?: string) => {
  const [owner = '', name = ''] = id.split('__')
  return { id, name, owner, description, parameters: '', ...(body !== undefined && { body }) }
}

describe('what a description says it is not for', () => {
  it.each([
    [
      'Use for reviews. DO NOT USE for writing code.',
      'Use for reviews.',
      'DO NOT USE for writing code.',
    ],
    [
      'Keeps values. Not for documents (files). Fast.',
      'Keeps values. Fast.',
      'Not for documents (files).',
    ],
    [
      "Sends mail; don't use it to read plugin.yaml.",
      'Sends mail;',
      "don't use it to read plugin.yaml.",
    ],
  ])('is told from what it is for: %s', (text, positive, excluded) => {
    const split = splitExclusions(text)
    expect(split.positive.replace(/\s+/g, ' ').trim()).toBe(positive)
    expect(split.excluded.trim()).toBe(excluded)
  })

  it('is nothing where a text only says no in passing', () => {
    for (const text of [
      'Works, though it does not need a key.',
      'Not only for code.',
      'Do not worry.',
    ])
      expect(splitExclusions(text)).toEqual({ positive: text, excluded: '' })
  })

  it('takes time linear in the text', () => {
    const text = `not ${' '.repeat(100_000)} ${'not for '.repeat(50_000)}`
    expect(splitExclusions(text).positive.length).toBeGreaterThan(0)
  })

  it('routes away: the words of an exclusion do not find, and cost a document that others match as well', () => {
    const index = createSearchIndex([
      document('reviewer__run', 'Review code. DO NOT USE for writing or changing code files.'),
      document('files__write', 'Write a text file.'),
      document('other__thing', 'Review code.'),
    ])
    const ids = (query: string) => index.search([query], 5).map(({ id }) => id)
    expect(ids('write or change code in a file')[0]).toBe('files__write')
    expect(ids('changing')).toEqual([])
    expect(ids('review code, then write')).toEqual([
      'files__write',
      'other__thing',
      'reviewer__run',
    ])
  })
})

describe('the ranking', () => {
  it('finds what one sentence of a long query asks for', () => {
    const documents = [
      document('a__long', 'party birthday friends music food garden'),
      document('b__forecast', 'weather forecast'),
    ]
    const query =
      'A party for a birthday with friends, music and food. What is the weather forecast?'
    const score = (partShare: number) => {
      const hits = createRankedIndex(documents, { ...shippedRanking, partShare }).search([query], 2)
      const of = (id: string) => hits.find((hit) => hit.id === id)?.score ?? 0
      return of('b__forecast') / of('a__long')
    }
    expect(score(0.4)).toBeGreaterThan(score(0))
  })

  it('finds by a body, which counts less than a description and hardly lengthens its document', () => {
    const index = createSearchIndex([
      document('a__x', 'thing', 'suricata and more rules of the kind'),
      document('b__y', 'suricata', 'thing'),
      document('c__z', 'other'),
    ])
    expect(index.search(['suricata'], 5).map(({ id }) => id)).toEqual(['b__y', 'a__x'])
  })

  it('reads whole lists up to its bound, the rare words first, and the others for the best until then', () => {
    const many = Array.from({ length: 100 }, (_, n) =>
      document(`p${n}__t`, n === 7 ? 'common rare' : 'common'),
    )
    const maxPostings = { question: 50, text: 50 }
    const index = createRankedIndex(many, { ...shippedRanking, maxPostings })
    let rows = 0
    const hits = index.search(['common rare'], 10, ({ rowsRead }) => (rows = rowsRead))
    expect(hits).toMatchObject([{ id: 'p7__t', matched: ['common', 'rare'] }])
    expect(rows).toBe(2)
    expect(index.search(['common'], 10)).toHaveLength(10)
  })
})
