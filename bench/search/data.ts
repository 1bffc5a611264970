import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SearchDocument } from '../../src/contracts/search.ts'
import type { JsonSchema } from '../../src/contracts/json.ts'
import { describeParameters } from '../../src/runtime/catalog/tool-document.ts'

/** One line of tools.jsonl. */
export interface ToolRow {
  readonly id: string
  readonly server?: string
  readonly server_description?: string
  readonly name: string
  readonly description?: string
  readonly schema?: JsonSchema
  readonly body?: string
}
/** One line of queries.jsonl. */
export interface QueryRow {
  readonly id: string
  readonly query: string
  readonly relevant: readonly string[]
  /** Groups of which one tool each suffices. */
  readonly any_of?: readonly (readonly string[])[]
  /** The query in small steps. */
  readonly steps?: readonly string[]
}
/** A folder with tools.jsonl and, unless it only makes the others larger, queries.jsonl. */
export interface SearchSet {
  readonly name: string
  readonly tools: readonly ToolRow[]
  readonly queries: readonly QueryRow[]
}

/** The folder itself if it is a set, else the sets in it. Throws what to give instead. */
export function loadSets(folder: string): readonly SearchSet[] {
  const names = existsSync(join(folder, 'tools.jsonl')) ? ['.'] : readdirSync(folder).toSorted()
  const sets = names
    .filter((name) => existsSync(join(folder, name, 'tools.jsonl')))
    .map((name) => ({
      name: name === '.' ? (folder.split('/').findLast((part) => part !== '') ?? name) : name,
      tools: readLines<ToolRow>(join(folder, name, 'tools.jsonl')),
      queries: existsSync(join(folder, name, 'queries.jsonl'))
        ? readLines<QueryRow>(join(folder, name, 'queries.jsonl'))
        : [],
    }))
  if (sets.length === 0)
    throw new Error(`--data ${folder}: no tools.jsonl in it or in a folder of it.`)
  return sets
}

function readLines<T>(file: string): T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, at) => {
      try {
        return JSON.parse(line) as T
      } catch {
        throw new Error(`${file}, line ${at + 1}: not JSON.`)
      }
    })
}

/** A row as the product would index it. */
export function toDocument(row: ToolRow): SearchDocument {
  const { id, name, server = '', description = '', schema = {}, body } = row
  const { server_description: ownerDescription } = row
  return {
    id,
    name,
    owner: server,
    description,
    parameters: describeParameters(schema),
    ...(ownerDescription !== undefined && { ownerDescription }),
    ...(body !== undefined && { body }),
  }
}
