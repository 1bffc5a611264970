import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { StoredPart } from '#runtime/catalog/types/generation.ts'
import {
  createNearSet,
  createSetCopier,
  toCommonSet,
} from '../../../src/runtime/catalog/near-set.ts'
import { keyedHash, systemSources } from '../../../src/compose/sources.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const partOf = (id: string): StoredPart =>
  ({ kind: 'plugin', id, pin: { id, hash: `h-${id}` }, epoch: 1, bodies: [`h-${id}`] }) as never
const sourceOf = async (hash: string) => ({ manifest: { id: hash }, files: {} })
const setOf = (number: number, ...ids: readonly string[]) =>
  toCommonSet({ number, parts: ids.map(partOf) }, { find: async () => [], sourceOf })

function open({ key = 'a key' }: { readonly key?: string } = {}) {
  const entries = new Map<string, string>()
  const store = {
    get: vi.fn(async (name: string) => entries.get(name) ?? null),
    put: vi.fn(async (name: string, value: string, _options?: { expirationTtl: number }) => {
      entries.set(name, value)
    }),
  }
  const openWith = (other: string) =>
    createNearSet({ ...systemSources, store, key: other, keyedHash })!
  const change = (how: (entry: string) => string) => {
    for (const [name, entry] of entries) entries.set(name, how(entry))
  }
  return { near: openWith(key), openWith, store, change }
}

describe('the copy of the set in force', () => {
  it('is read as it was written, and is gone a day later unless it is written again', async () => {
    const { near, store } = open()
    const set = await setOf(7, 'a', 'b')
    await near.write(set)
    expect(await near.read()).toEqual(set)
    expect(store.put.mock.calls[0]?.[2]).toEqual({ expirationTtl: 86_400 })
  })

  it('T24: counts as none if it was not written by this deployment, word for word', async () => {
    const { near, openWith, change } = open()
    expect(await near.read()).toBeUndefined()
    await near.write(await setOf(7, 'a'))
    expect(await openWith('another key').read()).toBeUndefined()
    change((entry) => entry.replace('"epoch":1', '"epoch":2'))
    expect(await near.read()).toBeUndefined()
    change(() => 'no entry')
    expect(await near.read()).toBeUndefined()
  })

  it('counts as none if it has another shape, or lacks a body', async () => {
    const { near, store } = open()
    const whole = await setOf(7, 'a')
    await near.write({ ...whole, number: -1 })
    expect(await near.read()).toBeUndefined()
    await near.write({ ...whole, snapshot: { ...whole.snapshot, sources: {} } })
    expect(await near.read()).toBeUndefined()
    store.get.mockRejectedValueOnce(new Error('KV is away'))
    expect(await near.read()).toBeUndefined()
  })

  it('does not exist without a key', () => {
    const { store } = open()
    expect(createNearSet({ ...systemSources, store, key: ' ', keyedHash })).toBeUndefined()
  })
})

function openCopier() {
  const written: number[] = []
  const state = { number: 7 as number | undefined, fails: 0 }
  const near = {
    read: async () => undefined,
    write: async ({ number }: { readonly number: number }) => {
      if (state.fails > 0) {
        state.fails -= 1
        throw new Error('429')
      }
      await systemSources.clock.sleep(300)
      written.push(number)
    },
  }
  const kept = { number: () => state.number, always: () => [], named: () => [] }
  const copier = createSetCopier({ ...systemSources, near, kept, sourceOf })
  return { copier, written, state }
}

describe('the Catalog', () => {
  it('writes each change to the copy, an older set never after a newer one', async () => {
    const { copier, written, state } = openCopier()
    void copier.changed()
    await vi.advanceTimersByTimeAsync(100)
    state.number = 8
    void copier.changed()
    state.number = 9
    void copier.changed()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(written).toEqual([7, 9])
  })

  it('writes again what KV refused, and gives up after four attempts', async () => {
    const { copier, written, state } = openCopier()
    state.fails = 2
    void copier.changed()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(written).toEqual([7])
    state.fails = 10
    void copier.changed()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(state.fails).toBe(6)
  })

  it('writes for a reader that found none or an older one, once a minute for all of them', async () => {
    const { copier, written } = openCopier()
    for (const found of [7, undefined, 6, undefined]) void copier.foundOlder(found)
    await vi.advanceTimersByTimeAsync(1_000)
    for (const found of [undefined, 6]) void copier.foundOlder(found)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(written).toEqual([7])
    await vi.advanceTimersByTimeAsync(60_000)
    void copier.foundOlder(6)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(written).toEqual([7, 7])
  })

  it('writes nothing while it is not known how a change ended', async () => {
    const { copier, written, state } = openCopier()
    state.number = undefined
    await copier.changed()
    await copier.foundOlder(undefined)
    expect(written).toEqual([])
  })
})
