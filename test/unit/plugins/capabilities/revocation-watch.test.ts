import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LoadedPlugin } from '../../../../src/features/plugins/loading/in-process-host.ts'
import {
  createRevocationWatch,
  type RevocationDeps,
} from '../../../../src/features/plugins/capabilities/revocation-watch.ts'
import { systemSources } from '../../../../src/compose/sources.ts'

const installed = { manifest: { id: 'one' }, grantEpoch: 3 } as unknown as LoadedPlugin
const bundled = { manifest: { id: 'one' } } as unknown as LoadedPlugin
const never = () => new Promise<never>(() => {})
async function late(): Promise<boolean> {
  await systemSources.clock.sleep(5_000)
  throw new Error('late')
}
async function unreachable(): Promise<boolean> {
  throw new Error('unreachable')
}
const silent = [
  ['nobody can be asked', unreachable],
  ['nobody answers', late],
] as const

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A Catalog in which part `one` stands under epoch 3 until it is said to be gone. */
function open() {
  const listening = new Set<() => void>()
  const catalog = {
    stands: vi.fn<RevocationDeps['stands']>(async ({ id, epoch }) => id === 'one' && epoch === 3),
    hold: vi.fn<RevocationDeps['hold']>(async (_part, onGone, over) => {
      listening.add(onGone)
      await new Promise<void>((done) => over.addEventListener('abort', () => done()))
      listening.delete(onGone)
    }),
  }
  const take = createRevocationWatch({
    stands: (part) => catalog.stands(part),
    hold: (...asked) => catalog.hold(...asked),
    clock: systemSources.clock,
  })
  return { catalog, take, listening }
}

describe('G12: a call of an installed plugin', () => {
  it.each<readonly [string, () => Promise<boolean>]>([
    ['it was switched off', async () => false],
    ...silent,
  ])('does not begin if %s', async (_name, stands) => {
    const { catalog, take } = open()
    catalog.stands.mockImplementation(stands)
    const refused = expect(take(installed)).rejects.toMatchObject({ code: 'tool_denied' })
    await vi.advanceTimersByTimeAsync(6_000)
    await refused
  })

  it('ends when it is told that it may not go on', async () => {
    const { take, listening } = open()
    const { signal } = await take(installed)
    await vi.advanceTimersByTimeAsync(250)
    expect(signal?.aborted).toBe(false)
    for (const onGone of listening) onGone()
    expect(signal?.reason).toMatchObject({ code: 'tool_denied' })
  })

  it('ends at the next use of anything once that was taken back', async () => {
    const { catalog, take } = open()
    const { signal, check } = await take(installed)
    await check()
    catalog.stands.mockImplementation(async () => false)
    await expect(check()).rejects.toMatchObject({ code: 'tool_denied' })
    expect(signal?.aborted).toBe(true)
  })

  it.each(silent)(
    'goes on while %s, and uses none of its grants until the catalog confirms them',
    async (_name, stands) => {
      const { catalog, take } = open()
      const { signal, check } = await take(installed)
      catalog.hold.mockImplementation(() => Promise.reject(new Error('unreachable')))
      catalog.stands.mockImplementation(stands)
      const refused = expect(check()).rejects.toMatchObject({ code: 'tool_denied' })
      await vi.advanceTimersByTimeAsync(60_000)
      await refused
      expect(signal?.aborted).toBe(false)
      catalog.stands.mockImplementation(async () => true)
      await check()
    },
  )

  it('is told also after the catalog could not tell it for a while', async () => {
    const { catalog, take } = open()
    const { signal } = await take(installed)
    const { hold } = catalog
    hold.mockImplementationOnce(() => Promise.reject(new Error('unreachable')))
    hold.mockImplementationOnce(async (_part, onGone) => onGone())
    await vi.advanceTimersByTimeAsync(1_250)
    expect(signal?.aborted).toBe(true)
  })

  it('listens to no catalog after its end', async () => {
    const { catalog, take, listening } = open()
    const { signal, end } = await take(installed)
    end()
    await vi.advanceTimersByTimeAsync(10_000)
    expect([catalog.hold.mock.calls.length, listening.size, signal?.aborted]).toEqual([0, 0, false])
  })
})

it('a call of a plugin that ships with the deployment asks no catalog', async () => {
  const { catalog, take } = open()
  catalog.stands.mockImplementation(never)
  const { signal, check } = await take(bundled)
  await check()
  expect(signal).toBeUndefined()
  expect(catalog.stands).not.toHaveBeenCalled()
})
