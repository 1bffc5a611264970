import { DatabaseSync } from 'node:sqlite'
import { queryTerms, wordsOf } from '../../src/runtime/catalog/search/words.ts'
import { describeParameters } from '../../src/runtime/catalog/tool-document.ts'
import type { ToolRow } from './data.ts'

/** Answers ids, best first. */
export type Ranker = (query: string, limit: number) => readonly string[]

const quote = (word: string): string => `"${word.replaceAll('"', '""')}"`
const rawWords = (text: string): readonly string[] => text.match(/[\p{L}\p{N}]+/gu) ?? []

/** SQLite FTS5 as it comes: Porter stems, name and description at weight 1, words joined by AND or by OR. */
export function createPlainFts(tools: readonly ToolRow[], joinedBy: ' ' | ' OR '): Ranker {
  const rows = tools.map(({ name, description = '' }) => [name, description])
  const ask = createTable(tools, { columns: ['name', 'description'], rows, weights: [1, 1] })
  return (query, limit) => ask(rawWords(query).map(quote).join(joinedBy), limit)
}

/** Variant F of the baselines: split words, no stop words, parameters, server, body and server description. */
export function createWeightedFts(tools: readonly ToolRow[]): Ranker {
  const columns = ['name', 'server', 'description', 'params', 'body', 'server_description']
  const rows = tools.map((tool) =>
    [
      tool.name,
      tool.server,
      tool.description,
      describeParameters(tool.schema ?? {}),
      tool.body,
      tool.server_description,
    ].map((text) => wordsOf(text ?? '').join(' ')),
  )
  const ask = createTable(tools, { columns, rows, weights: [3, 1, 1, 0.5, 0.3, 0.5] })
  return (query, limit) =>
    ask([...new Set(queryTerms(query).values())].map(quote).join(' OR '), limit)
}

interface Table {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  readonly weights: readonly number[]
}

function createTable(tools: readonly ToolRow[], { columns, rows, weights }: Table): Ranker {
  const db = new DatabaseSync(':memory:')
  db.exec(`create virtual table t using fts5(${columns.join(', ')}, tokenize = 'porter unicode61')`)
  const insert = db.prepare(
    `insert into t (rowid, ${columns.join(', ')}) values (?${', ?'.repeat(columns.length)})`,
  )
  db.exec('begin')
  for (const [at, row] of rows.entries()) insert.run(at, ...row)
  db.exec('commit')
  const select = db.prepare(
    `select rowid as at from t where t match ? order by bm25(t, ${weights.join(', ')}), rowid limit ?`,
  )
  return (match, limit) =>
    match === '' ? [] : select.all(match, limit).map(({ at }) => tools[Number(at)]?.id ?? '')
}
