import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { PluginSnapshot } from '#contracts/plugin-catalog.ts'
import type { LoadedPlugin } from '../../../src/plugins/in-process-host.ts'
import { createRevocationWatch } from '../../../src/plugins/revocation-watch.ts'
import { systemSources } from '../../../src/sources.ts'

const installed = { manifest: { id: 'one' }, grantEpoch: 3 } as unknown as LoadedPlugin
const bundled = { manifest: { id: 'one' } } as unknown as LoadedPlugin
const snapshotOf = (...pins: readonly object[]) =>
  ({ installed: pins }) as unknown as PluginSnapshot
const stands = async () => snapshotOf({ id: 'one', grantEpoch: 3 })
const never = () => new Promise<PluginSnapshot>(() => {})
const unreachable = () => Promise.reject(new Error('unreachable'))
const changed = [
  ['it was switched off', async () => snapshotOf()],
  ['its permit is another', async () => snapshotOf({ id: 'one', grantEpoch: 4 })],
] as const
const silent = [
  ['nobody can be asked', unreachable],
  ['nobody answers', never],
] as const

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())
const withCatalog = (snapshot: () => Promise<PluginSnapshot>) => {
  const catalog = { snapshot: vi.fn(snapshot) }
  const take = createRevocationWatch({
    snapshot: () => catalog.snapshot(),
    clock: systemSources.clock,
  })
  return { catalog, take }
}

describe('G12: a call of an installed plugin', () => {
  it.each([...changed, ...silent])('does not begin if %s', async (_name, snapshot) => {
    const refused = expect(withCatalog(snapshot).take(installed)).rejects.toMatchObject({
      code: 'tool_denied',
    })
    await vi.advanceTimersByTimeAsync(5_000)
    await refused
  })

  it.each(silent)('ends within a second once %s', async (_name, snapshot) => {
    const { catalog, take } = withCatalog(stands)
    const { signal } = await take(installed)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(signal?.aborted).toBe(false)
    catalog.snapshot.mockImplementation(snapshot)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(signal?.reason).toMatchObject({ code: 'tool_denied' })
  })

  it.each(changed)('ends at the next look once %s', async (_name, snapshot) => {
    const { catalog, take } = withCatalog(stands)
    const { signal } = await take(installed)
    catalog.snapshot.mockImplementation(snapshot)
    await vi.advanceTimersByTimeAsync(250)
    expect(signal?.aborted).toBe(true)
  })

  it('goes on if one look-up fails', async () => {
    const { catalog, take } = withCatalog(stands)
    const { signal } = await take(installed)
    catalog.snapshot.mockImplementationOnce(unreachable)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(signal?.aborted).toBe(false)
  })

  it('is not looked at after its end, and has no leave taken back', async () => {
    const { catalog, take } = withCatalog(stands)
    const { signal, end } = await take(installed)
    end()
    catalog.snapshot.mockImplementation(unreachable)
    await vi.advanceTimersByTimeAsync(10_000)
    expect([catalog.snapshot.mock.calls.length, signal?.aborted]).toEqual([1, false])
  })
})

it('a call of a plugin that ships with the deployment asks nobody', async () => {
  const { catalog, take } = withCatalog(unreachable)
  expect((await take(bundled)).signal).toBeUndefined()
  expect(catalog.snapshot).not.toHaveBeenCalled()
})
