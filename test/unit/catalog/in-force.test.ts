import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Generation } from '#runtime/catalog/types/generation.ts'
import { createInForce } from '../../../src/runtime/catalog/in-force.ts'
import type { StoredParts } from '../../../src/runtime/catalog/stored-parts.ts'
import { systemSources } from '../../../src/compose/sources.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A Catalog that was loaded anew. */
function open(
  newestNumber: () => Promise<number>,
  { stored }: { stored?: number } = { stored: 3 },
) {
  let number = stored
  const kept = {
    number: () => number,
    replace: (next: Generation) => (number = next.number),
  } as unknown as StoredParts
  const onChanged = vi.fn(() => {})
  const inForce = createInForce({
    ...systemSources,
    kept,
    newestNumber,
    current: async () => ({ number: 4, pins: {} }),
    installedIds: async () => [],
    onChanged,
    onWritten: () => {},
  })
  return { inForce, onChanged }
}

it('F15: the cached generation is used while D1 does not answer, and read again when it does', async () => {
  const newestNumber = vi.fn(() => new Promise<number>(() => {}))
  const { inForce, onChanged } = open(newestNumber)
  expect(await inForce.known()).toBe(3)
  await vi.advanceTimersByTimeAsync(1_000)
  newestNumber.mockImplementation(async () => 4)
  // Behind this answer.
  expect(await inForce.known()).toBe(3)
  await vi.advanceTimersByTimeAsync(0)
  expect(await inForce.known()).toBe(4)
  expect([newestNumber.mock.calls.length, onChanged.mock.calls.length]).toEqual([2, 1])
})

it('a Catalog that stored no generation, or does not know how a change ended, waits for D1', async () => {
  const answer = Promise.withResolvers<number>()
  const { inForce } = open(() => answer.promise, {})
  let found: number | undefined
  void inForce.known().then((number) => (found = number))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(found).toBeUndefined()
  answer.resolve(4)
  await vi.advanceTimersByTimeAsync(0)
  expect(found).toBe(4)
})

it('a change waits until the stored generation was compared with that of D1', async () => {
  const answer = Promise.withResolvers<number>()
  const { inForce } = open(() => answer.promise)
  expect(await inForce.known()).toBe(3)
  let isCompared = false
  void inForce.compared().then(() => (isCompared = true))
  await vi.advanceTimersByTimeAsync(500)
  expect(isCompared).toBe(false)
  answer.resolve(4)
  await vi.advanceTimersByTimeAsync(0)
  expect([isCompared, await inForce.known()]).toEqual([true, 4])
})
