import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Generation } from '#runtime/catalog/types/generation.ts'
import { createInForce } from '../../../src/runtime/catalog/in-force.ts'
import type { StoredParts } from '../../../src/runtime/catalog/stored-parts.ts'
import { systemSources } from '../../../src/compose/sources.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('F15: the cached generation is used while D1 does not answer, and read again when it does', async () => {
  let number = 3
  const kept = {
    number: () => number,
    replace: (next: Generation) => (number = next.number),
  } as unknown as StoredParts
  const newestNumber = vi.fn(() => new Promise<number>(() => {}))
  const inForce = createInForce({
    ...systemSources,
    kept,
    newestNumber,
    current: async () => ({ number: 4, pins: {} }),
    installedIds: async () => [],
    onWritten: () => {},
  })
  let found: number | undefined
  void inForce.known().then((known) => (found = known))
  await vi.advanceTimersByTimeAsync(1_000)
  expect(found).toBe(3)
  newestNumber.mockImplementation(async () => 4)
  expect(await inForce.known()).toBe(4)
})
