import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSets, toDocument } from '../../../bench/search/data.ts'
import {
  createDocumentReader,
  shippedRanking,
} from '../../../src/runtime/catalog/search/read-document.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { pinsOf, type PluginPin, type PluginSource } from '#runtime/catalog/types/generation.ts'
import type { PartKinds } from '#runtime/catalog/types/part-kind.ts'
import type { ListedTool } from '#runtime/catalog/types/plugin-catalog.ts'
import { createStoredParts } from '../../../src/runtime/catalog/stored-parts.ts'
import { needsOf } from '../../../src/runtime/catalog/part-needs.ts'
import { createToolIndex, type ToolIndexDeps } from '../../../src/runtime/catalog/tool-index.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'

const namesOf = (hits: readonly { readonly id: string }[]) => hits.map(({ id }) => id)

const kinds = {
  plugin: {
    wire: () => 'by name',
    epoch: () => 1,
    sources: (pin: PluginPin) => [pin.hash],
  },
} as unknown as PartKinds

const toolOf = (id: string) =>
  ({ name: `${id}__say`, description: '', inputSchema: {} }) as unknown as ListedTool

/** The index over plugins with one tool each, which is there if what the plugin depends on is. */
function open() {
  const values = new Map<string, unknown>()
  const { sql } = createPrincipalStorage()
  const kv = {
    get: (key: string) => values.get(key),
    put: (key: string, value: unknown) => void values.set(key, value),
    delete: (key: string) => values.delete(key),
  }
  const keep = () => createStoredParts({ sql, kv } as unknown as DurableObjectStorage, () => kinds)
  const kept = keep()
  const manifests: Record<string, { readonly depends_on: readonly string[] }> = {}
  let number = 0
  let whileRead: () => void = () => {}
  const state = {
    built: 0,
    lost: '',
    hidden: '',
    documents: [] as readonly object[],
    /** All of these are in force from now on, each with what it depends on. */
    replace(plugins: Readonly<Record<string, readonly string[]>>) {
      for (const [id, needs] of Object.entries(plugins)) manifests[id] = { depends_on: needs }
      const pins = Object.keys(plugins).map((id) => ({ id, hash: id }) as PluginPin)
      kept.replace({ number: ++number, pins: { plugin: pins } })
    },
    /** Once, in the middle of finding out. */
    onRead(work: () => void) {
      whileRead = () => {
        whileRead = () => {}
        work()
      }
    },
  }
  const deps: Omit<ToolIndexDeps, 'kept'> = {
    async sourceOf(hash) {
      whileRead()
      return hash === state.lost
        ? undefined
        : ({ manifest: manifests[hash], files: {} } satisfies PluginSource)
    },
    wire(snapshot) {
      const all = pinsOf(snapshot, 'plugin').map(({ id }) => id)
      const isWired = (id: string): boolean =>
        all.includes(id) &&
        Object.hasOwn(snapshot.sources, id) &&
        needsOf(snapshot.sources[id]?.manifest).every(isWired)
      const wired = all.filter(isWired)
      return {
        directory: { tools: () => wired.map((id) => toolOf(id)) },
        ownerOf: (id) =>
          wired.includes(id) ? { isHidden: id === state.hidden, names: [`${id}__say`] } : undefined,
        problems: all
          .filter((id) => id === state.lost)
          .map((plugin) => ({ plugin, code: 'plugin_code_unavailable', message: 'lost' })),
      }
    },
    buildIndex(documents) {
      state.built += 1
      state.documents = documents
      return { search: () => documents.map(({ id }) => ({ id, score: 1, fit: 1, matched: [] })) }
    },
  }
  const index = createToolIndex({ kept, ...deps })
  return {
    index,
    state,
    sql,
    /** The object, started again over what it kept. */
    restarted: () => ({
      search: async (...asked: Parameters<typeof index.search>) =>
        namesOf(await createToolIndex({ kept: keep(), ...deps }).search(...asked)),
    }),
    found: async () => namesOf(await index.search(['say'], 100)).toSorted(),
  }
}

it('a tool that came while the index read the list is found by the next search', async () => {
  const { state, found } = open()
  state.replace({ a: [] })
  state.onRead(() => state.replace({ a: [], b: [] }))
  await found()
  expect(await found()).toEqual(['a__say', 'b__say'])
})

it('a search over what stays as it is builds no index anew, though a bundle is lost', async () => {
  const { state, found } = open()
  state.lost = 'b'
  state.replace({ a: [], b: [] })
  for (let n = 0; n < 3; n += 1) expect(await found()).toEqual(['a__say'])
  expect(state.built).toBe(1)
  state.lost = ''
  expect(await found()).toEqual(['a__say', 'b__say'])
})

it('a plugin that was off, and every plugin that depends on it, is found again when it is on', async () => {
  const { state, found } = open()
  state.replace({ a: ['b'], b: ['c'], c: [] })
  expect(await found()).toEqual(['a__say', 'b__say', 'c__say'])
  state.replace({ a: ['b'], b: ['c'] })
  expect(await found()).toEqual([])
  state.replace({ a: ['b'], b: ['c'], c: [] })
  expect(await found()).toEqual(['a__say', 'b__say', 'c__say'])
  state.replace({ a: ['b'] })
  expect(await found()).toEqual([])
  state.replace({ a: ['b'], b: ['c'], c: [] })
  expect(await found()).toEqual(['a__say', 'b__say', 'c__say'])
})

it('E9: names of tools come without what they are', async () => {
  const { index, state } = open()
  state.replace({ a: [], b: [] })
  expect(await index.toolNames(['*'])).toEqual(['a__say', 'b__say'])
  expect(await index.toolNames(['b__*', 'b__say', 'c__say'])).toEqual(['b__say'])
})

it('E9: a new process builds the index of the words that were read, not of the tools', async () => {
  const { state, found, restarted, sql } = open()
  state.hidden = 'c'
  state.replace({ a: [], b: [], c: [] })
  expect(await found()).toEqual(['a__say', 'b__say'])
  const before = state.documents
  sql.exec("UPDATE tools SET tool = 'no JSON' WHERE name <> 'c__say'")
  expect(await restarted().search(['say'], 9)).toEqual(['a__say', 'b__say'])
  expect(state.documents).toEqual(before)
})

it('the digest of the document reader changes with an upgrade step: add one, then change this digest', () => {
  const read = createDocumentReader(shippedRanking.fields)
  const texts = loadSets(join(import.meta.dirname, '../../../bench/search/sample')).flatMap(
    ({ tools }) => tools.map((tool) => JSON.stringify(read(toDocument(tool)))),
  )
  expect(sha256(texts.join('\n')).slice(0, 16)).toBe('3afb81429f884e0e')
})
