import { describe, expect, it } from 'vitest'
import type { SearchDocument } from '#contracts/search.ts'
import { cpuMs } from '../../fakes/cpu-ms.ts'
import { namedFiles } from '../../../src/runtime/catalog/search/query.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { clausesOf } from '../../../src/runtime/catalog/search/words.ts'

const document = (id: string, description: string, about?: string): SearchDocument => {
  const [owner = '', name = ''] = id.split('__')
  const ownerDescription = about === undefined ? {} : { ownerDescription: about }
  return { id, name, owner, description, parameters: '', ...ownerDescription }
}
const finder = (...documents: readonly SearchDocument[]) => {
  const index = createSearchIndex(documents)
  return (query: string) => index.search([query], 10)
}

describe('the search', () => {
  it('finds by a word of like meaning, after what has the word itself, and says which words it has', () => {
    const find = finder(document('a__x', 'Picture of the day.'), document('b__y', 'Photo of it.'))
    expect(find('photo')).toMatchObject([
      { id: 'b__y', matched: ['photo'] },
      { id: 'a__x', matched: [], fit: 0 },
    ])
  })

  it('takes a word for what it implies, and not the other way', () => {
    const find = finder(document('a__x', 'Weather of a town.'), document('b__y', 'Humidity.'))
    expect(find('humidity').map(({ id }) => id)).toEqual(['b__y', 'a__x'])
    expect(find('weather').map(({ id }) => id)).toEqual(['a__x'])
  })

  it('finds what writes a file that a task names at its end', () => {
    const others = Array.from({ length: 20 }, (_, n) =>
      document(`rome${n}__article`, 'Articles on the fall of the Roman empire and its causes.'),
    )
    const find = finder(...others, document('files__write', 'Write a text file.'))
    const task = 'List causes of the fall of the Roman empire. Save the article to ~/notes/rome.md.'
    const places = find(task).map(({ id }) => id)
    expect(places.slice(0, 3)).toContain('files__write')
  })

  it('finds by what an owner says of itself', () => {
    const find = finder(
      document('a__get', 'Get it.', 'Tools of arXiv.'),
      document('b__get', 'Get it.'),
    )
    expect(find('arxiv').map(({ id }) => id)).toEqual(['a__get'])
  })

  it('puts the tools of an owner first of which two fit, and holds nothing against one that is alone', () => {
    const find = finder(
      document('one__sheet', 'Sheet.'),
      document('two__other', 'Nothing.'),
      document('two__sheet', 'Sheet.'),
      document('three__sheet', 'Sheet.'),
      document('three__cells', 'Cells of a sheet.'),
    )
    const places = find('sheet cells').map(({ id }) => id)
    expect(places.indexOf('three__sheet')).toBeLessThan(places.indexOf('two__sheet'))
    expect(places.indexOf('one__sheet')).toBeLessThan(places.indexOf('two__sheet'))
  })
})

describe('a query', () => {
  it('is cut into clauses where enough was said', () => {
    expect(
      clausesOf('Download the yearly sales report, then draw a pie chart and send it. Thanks').map(
        (clause) => clause.trim().replace(/\s+/g, ' '),
      ),
    ).toEqual(['Download the yearly sales report', 'draw a pie chart send it', 'Thanks'])
  })

  it('names files by path or ending, not addresses and not names like Node.js', () => {
    const { rest, words, questions } = namedFiles('Read ~/a/b.xlsx. Save all to out.md')
    expect(rest).not.toMatch(/xlsx|out/)
    expect(words).toEqual(['file', 'excel', 'spreadsheet', 'xlsx', 'markdown', 'md'])
    expect(questions.map((one) => [...one.keys()].at(-1))).toEqual(['read', 'write'])
    for (const text of ['See https://example.com/a.html', 'Node.js and example.com', 'v1.2 of it'])
      expect(namedFiles(text)).toEqual({ rest: text, words: [], questions: [] })
  })

  it('takes time linear in its text, whatever it is made of', () => {
    const find = finder(document('a__x', 'word file write'))
    const startedAt = cpuMs()
    for (const one of ['a-', 'a,', '/a', 'and ', 'word, ', '~', 'save a.md ', '.', 'a.', '{', '1 '])
      find(one.repeat(500_000))
    expect(cpuMs() - startedAt).toBeLessThan(2_000)
  })

  it('raises no error, whatever its text: odd pieces, at random', () => {
    const find = finder(
      document('a__x', 'Write code. DO NOT USE for maps.'),
      document('b__y', '工具'),
    )
    const pieces = [
      '"', "'", '*', '(', ')', ':', '^', '-', 'NEAR(', ' AND ', ' OR ', 'NOT ', '\0', '\ud800', '\udc00',
      '\u202e', '\u0301', '工', 'ß', 'İ', 'ﬃ', '__proto__', 'constructor', 'toString', '~/a.md', '//', '.md',
      '%', '\\', '{', '}', '\n', '\t', '. ', ', ', 'maps', 'code', '9', '🙂', ' and ', 'then', 'x'.repeat(99),
    ] // prettier-ignore
    let seed = 7
    const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
    for (let round = 0; round < 3_000; round += 1) {
      const text = Array.from({ length: next(30) }, () => pieces[next(pieces.length)]).join('')
      const hits = find(text)
      expect(
        hits.every(({ score }) => Number.isFinite(score) && score > 0),
        text,
      ).toBe(true)
    }
  })
})
