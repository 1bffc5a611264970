import { describe, expect, it } from 'vitest'
import type { SearchDocument } from '#contracts/search.ts'
import { createSearchIndex } from '../../../src/catalog/search/search-index.ts'
import { createTermReader, termsOf } from '../../../src/catalog/search/words.ts'

const document = (id: string, description = '', parameters = ''): SearchDocument => {
  const [owner = '', name = ''] = id.split('__')
  return { id, name, owner, description, parameters }
}
const index = createSearchIndex([
  document('kv__set', 'Store a value under a key.', 'key value'),
  document('kv__get', 'Read the value of a key.', 'key'),
  document('github__searchIssues', 'Find issues in a repository.', 'repository name query'),
  document('http__fetch', 'Download a page from the web.', 'url address of the page'),
  document('code-reviewer__run', 'Reviews source code for bugs.', 'task context'),
])
const ids = (...queries: readonly string[]): readonly string[] =>
  index.search(queries, 10).map(({ id }) => id)

describe('the search index', () => {
  it('finds a document when only one word of the query is in it', () => {
    expect(ids('colossal page of unknown provenance')[0]).toBe('http__fetch')
  })

  it('splits camelCase, snake_case and kebab-case in documents and in queries', () => {
    expect(ids('search issues')[0]).toBe('github__searchIssues')
    expect(ids('search_issues')[0]).toBe('github__searchIssues')
    expect(ids('code reviewer')[0]).toBe('code-reviewer__run')
    expect(ids('codeReviewer')[0]).toBe('code-reviewer__run')
  })

  it('finds other forms of a word by its stem', () => {
    expect(ids('reviewing bug')[0]).toBe('code-reviewer__run')
  })

  it('weighs a name above a description and a description above parameters', () => {
    const weighed = createSearchIndex([
      { id: 'p', name: 'x', owner: 'y', description: 'y', parameters: 'weather' },
      { id: 'd', name: 'x', owner: 'y', description: 'weather', parameters: 'y' },
      { id: 'n', name: 'weather', owner: 'y', description: 'x', parameters: 'y' },
    ])
    expect(weighed.search(['weather'], 10).map(({ id }) => id)).toEqual(['n', 'd', 'p'])
  })

  it('ignores stop words in a query, unless there is nothing else', () => {
    expect(ids('what is the')).toEqual(ids('the'))
    expect(ids('please could you help me')).toEqual([])
    expect(index.search(['the page'], 10)[0]?.matched).toEqual(['page'])
  })

  it('merges several queries round-robin, each document once', () => {
    expect(ids('download page', 'review code', 'page').slice(0, 2)).toEqual([
      'http__fetch',
      'code-reviewer__run',
    ])
    expect(new Set(ids('key', 'value', 'key value')).size).toBe(
      ids('key', 'value', 'key value').length,
    )
  })

  it('keeps the order of the documents on equal scores', () => {
    const twins = createSearchIndex(
      ['b__x', 'a__x', 'c__x'].map((id) => document(id, 'same words')),
    )
    expect(twins.search(['same words'], 10).map(({ id }) => id)).toEqual(['b__x', 'a__x', 'c__x'])
  })

  it('returns at most as many hits as asked for', () => {
    expect(index.search(['key value'], 1)).toHaveLength(1)
    expect(index.search(['key value'], 0)).toEqual([])
  })

  it('answers with nothing for an empty index, no queries and empty text', () => {
    expect(createSearchIndex([]).search(['anything'], 5)).toEqual([])
    expect(index.search([], 5)).toEqual([])
    expect(index.search(['', '   ', '!?'], 5)).toEqual([])
  })

  it('never throws, whatever the text of the query', () => {
    const hostile = [
      'a AND NOT (b',
      '"',
      'NEAR(',
      'name : x',
      '*',
      '\\',
      '__proto__ constructor',
      '\ud800',
      '工具 検索',
      'a'.repeat(1e6),
    ]
    for (const query of hostile) expect(() => index.search([query], 5)).not.toThrow()
    expect(() =>
      index.search(
        Array.from({ length: 1_000 }, () => 'key'),
        5,
      ),
    ).not.toThrow()
  })

  it('finds words of scripts that are written without blanks', () => {
    const chinese = createSearchIndex([
      document('a__x', '获取网页内容'),
      document('b__x', '生成图表'),
    ])
    expect(chinese.search(['图表'], 5)[0]?.id).toBe('b__x')
  })

  it('answers a long query over many documents in linear time', () => {
    const many = createSearchIndex(
      Array.from({ length: 2_000 }, (_, n) => document(`p${n}__t${n}`, `does thing ${n}`)),
    )
    const startedAt = performance.now()
    many.search(['thing '.repeat(200_000)], 10)
    expect(performance.now() - startedAt).toBeLessThan(500)
  })
})

describe('a reader of many texts', () => {
  it('reads each as it is read alone, whatever it is written in', () => {
    const termsIn = createTermReader()
    const texts = [
      'getIssueById HTTPServerError get_issue-by id',
      'Größe résumé Ångström ﬁle',
      '检索 tools 123abc',
      '',
      'constructor toString __proto__',
    ]
    for (const text of [...texts, ...texts]) expect(termsIn(text)).toEqual(termsOf(text))
  })
})
