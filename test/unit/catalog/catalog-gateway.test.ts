import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { policyOf, type StoredPart } from '#runtime/catalog/types/generation.ts'
import type { CatalogApi } from '#runtime/catalog/types/plugin-catalog.ts'
import { createCatalogGateway } from '../../../src/runtime/catalog/catalog-gateway.ts'
import { systemSources } from '../../../src/compose/sources.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const partOf = (id: string, more: Partial<StoredPart> = {}) =>
  ({
    kind: 'plugin',
    id,
    pin: { id, hash: `h-${id}` },
    epoch: 1,
    bodies: [`h-${id}`],
    ...more,
  }) as StoredPart
const never = () => new Promise<never>(() => {})
const ok = <T>(value: T) => Promise.resolve({ ok: true as const, value })

/** A Catalog as the test has it, with every body there but those that are lost. */
function open(api: Partial<CatalogApi>, lost: ReadonlySet<string> = new Set()) {
  const look = vi.fn<CatalogApi['look']>(
    api.look ?? ((known) => ok({ number: 7, ...(known !== 7 && { parts: [partOf('a')] }) })),
  )
  const parts = vi.fn<CatalogApi['parts']>(api.parts ?? (() => ok({ number: 7, parts: [] })))
  const loaded: string[] = []
  const gateway = createCatalogGateway({
    ...systemSources,
    namespace: { getByName: () => ({ ...api, look, parts }) },
    async loadBody(hash) {
      loaded.push(hash)
      if (lost.has(hash)) throw new Error('lost')
      return { manifest: { id: hash }, files: {} }
    },
  })
  return { gateway, look, parts, loaded }
}

it('a Catalog that does not answer holds up no caller for more than five seconds', async () => {
  const asked = open({ look: never }).gateway.snapshot()
  const refused = expect(asked).rejects.toMatchObject({ code: 'request_unavailable' })
  await vi.advanceTimersByTimeAsync(5_000)
  await refused
})

/** How long a question waits until it is refused. */
async function waitOf(asked: Promise<unknown>): Promise<number> {
  const begunAtMs = Date.now()
  let waitedMs: number | undefined
  void asked.catch(({ code }: { readonly code: string }) => {
    waitedMs = code === 'request_unavailable' ? Date.now() - begunAtMs : Infinity
  })
  for (let ms = 0; waitedMs === undefined && ms < 10_000; ms += 50)
    await vi.advanceTimersByTimeAsync(ms === 0 ? 0 : 50)
  return waitedMs ?? Infinity
}

it('F15: a Catalog that does not answer is waited for once, and then only for a moment', async () => {
  const { gateway } = open({ look: never, search: never })
  const first = expect(gateway.snapshot()).rejects.toMatchObject({ code: 'request_unavailable' })
  await vi.advanceTimersByTimeAsync(5_000)
  await first
  const waits: number[] = []
  for (const wait of [0, 500, 1_000, 2_000]) {
    await vi.advanceTimersByTimeAsync(wait)
    let waitMs = 0
    for (const ask of [
      () => gateway.snapshot(),
      () => gateway.around(['x']),
      () => gateway.search(['x'], 8),
    ])
      waitMs += await waitOf(ask())
    waits.push(waitMs)
  }
  expect(waits).toEqual([0, 0, 250, 250])
})

it('F15: a Catalog that was waited for in vain is asked again later, and waited for shortly', async () => {
  const { gateway } = open({ look: never })
  const waits: number[] = []
  for (const pause of [0, 11_000, 11_000]) {
    await vi.advanceTimersByTimeAsync(pause)
    const begunAtMs = Date.now()
    const asked = gateway.snapshot().catch(() => void waits.push(Date.now() - begunAtMs))
    await vi.advanceTimersByTimeAsync(6_000)
    await asked
  }
  expect(waits).toEqual([5_000, 250, 250])
})

it('F15: a catalog that answers again is heard, though no caller waits for the answer', async () => {
  const { gateway, look } = open({ look: never })
  const first = expect(gateway.snapshot()).rejects.toThrow()
  await vi.advanceTimersByTimeAsync(5_000)
  await first
  look.mockImplementation(() => ok({ number: 7, parts: [] }))
  await vi.advanceTimersByTimeAsync(1_000)
  await gateway.snapshot().catch(() => {})
  await vi.advanceTimersByTimeAsync(0)
  expect((await gateway.snapshot()).number).toBe(7)
})

it('all who ask at the same time wait for one read', async () => {
  const { gateway, look } = open({})
  const asked = Promise.all(Array.from({ length: 50 }, () => gateway.snapshot()))
  await vi.advanceTimersByTimeAsync(10)
  const all = await asked
  expect([look.mock.calls.length, new Set(all).size]).toEqual([1, 1])
})

it('a failed read is the answer to every caller for a second', async () => {
  const { gateway, look } = open({ look: () => Promise.reject(new Error('away')) })
  const ask = () =>
    gateway.snapshot().then(
      () => 'known',
      () => 'away',
    )
  const all = Promise.all([ask(), ask(), ask()])
  await vi.advanceTimersByTimeAsync(10)
  expect(await all).toEqual(['away', 'away', 'away'])
  const asked = look.mock.calls.length
  await vi.advanceTimersByTimeAsync(900)
  expect(await ask()).toBe('away')
  expect(look.mock.calls.length).toBe(asked)
  look.mockImplementation(() => ok({ number: 7, parts: [] }))
  await vi.advanceTimersByTimeAsync(100)
  expect(await ask()).toBe('known')
})

it('F15: a catalog that is reset during a read is asked once more', async () => {
  const { gateway, look } = open({})
  look.mockImplementationOnce(() => Promise.reject(new Error('the object was reset')))
  expect((await gateway.snapshot()).number).toBe(7)
})

it('a first caller that goes away with its read does not hold up the next for long', async () => {
  const { gateway, look } = open({})
  look.mockImplementationOnce(never)
  void gateway.snapshot().catch(() => {})
  await vi.advanceTimersByTimeAsync(100)
  const second = gateway.snapshot()
  await vi.advanceTimersByTimeAsync(1_000)
  expect((await second).number).toBe(7)
})

it('a repeated read names the known number, and loads no body again', async () => {
  const { gateway, look, loaded } = open({})
  const first = await gateway.snapshot()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await gateway.snapshot()).toBe(first)
  expect(look.mock.calls.map(([known]) => known)).toEqual([undefined, 7])
  expect(loaded).toEqual(['h-a'])
})

it('P25: a set without a body is put together again until it is there', async () => {
  const lost = new Set(['h-a'])
  const { gateway } = open({}, lost)
  expect((await gateway.snapshot()).sources).toEqual({})
  lost.clear()
  await vi.advanceTimersByTimeAsync(1_000)
  // Read behind this answer.
  await gateway.snapshot()
  await vi.advanceTimersByTimeAsync(0)
  expect(Object.keys((await gateway.snapshot()).sources)).toEqual(['h-a'])
})

it('a part is looked up by its name with what it needs, and kept for its generation', async () => {
  const { gateway, parts, loaded } = open({
    parts: (ids) => ok({ number: 7, parts: ids.map((id) => partOf(id)) }),
  })
  const { pins, sources } = await gateway.around(['b'])
  expect(pins.plugin?.map(({ id }) => id)).toEqual(['a', 'b'])
  expect(Object.keys(sources)).toEqual(['h-a', 'h-b'])
  await gateway.around(['b'])
  expect([
    await gateway.stands(partOf('b')),
    await gateway.stands(partOf('b', { epoch: 2 })),
  ]).toEqual([true, false])
  expect(parts.mock.calls).toEqual([[['b']]])
  expect(loaded).toEqual(['h-a', 'h-b'])
})

it('a part that was missing is looked for again: it may have been added', async () => {
  const there: StoredPart[] = []
  const { gateway } = open({ parts: () => ok({ number: 7, parts: there }) })
  expect((await gateway.around(['b'])).pins.plugin).toHaveLength(1)
  there.push(partOf('b'))
  expect((await gateway.around(['b'])).pins.plugin).toHaveLength(2)
})

it('P4: the network policy is the shipped default while none is set', async () => {
  const { gateway } = open({})
  expect(policyOf(await gateway.snapshot()).network).toEqual({ hosts: [], elsewhere: 'ask' })
})

it('a plugin that is called as a choice of the operator is in force too', async () => {
  const policy = partOf('policy', { kind: 'policy', epoch: 0, bodies: [] })
  const { gateway } = open({
    look: () => ok({ number: 7, parts: [policy] }),
    parts: () => ok({ number: 7, parts: [policy, partOf('policy')] }),
  })
  expect(await gateway.stands(partOf('policy'))).toBe(true)
  expect(await gateway.stands(partOf('policy', { epoch: 2 }))).toBe(false)
})

it('F15: a Catalog that takes longer than a second is heard as soon as it answers', async () => {
  const { gateway } = open({
    look: async () => {
      await systemSources.clock.sleep(1_100, new AbortController().signal)
      return { ok: true as const, value: { number: 7, parts: [partOf('a')] } }
    },
  })
  const waits: number[] = []
  const ask = () =>
    gateway.snapshot().then(
      () => void waits.push(Date.now()),
      () => void waits.push(Infinity),
    )
  const begunAtMs = Date.now()
  const first = ask()
  await vi.advanceTimersByTimeAsync(100)
  const second = ask()
  await vi.advanceTimersByTimeAsync(6_000)
  await Promise.all([first, second])
  expect(Math.max(...waits) - begunAtMs).toBeLessThan(1_200)
})

it('T27: unknown names make one read for all who ask at once, and four a second', async () => {
  const { gateway, look } = open({})
  await gateway.snapshot()
  look.mockClear()
  const asked = Promise.all(Array.from({ length: 50 }, () => gateway.latest()))
  await vi.advanceTimersByTimeAsync(10)
  await asked
  expect(look.mock.calls.length).toBe(1)
  const more: Promise<unknown>[] = []
  for (let times = 0; times < 100; times += 1) {
    more.push(gateway.latest())
    await vi.advanceTimersByTimeAsync(10)
  }
  await vi.advanceTimersByTimeAsync(500)
  await Promise.all(more)
  expect(look.mock.calls.length).toBeLessThanOrEqual(6)
})

it('a part that came since the last read is in the latest, though others were reading', async () => {
  const { gateway, look } = open({})
  await gateway.latest()
  look.mockImplementation(() => ok({ number: 8, parts: [partOf('a'), partOf('b')] }))
  await vi.advanceTimersByTimeAsync(1)
  const latest = gateway.latest()
  await vi.advanceTimersByTimeAsync(300)
  expect((await latest).number).toBe(8)
})

it('lists plugins in answers that are small enough, all of them', async () => {
  const asked: number[] = []
  const ids = Array.from({ length: 120 }, (_, at) => `p${String(at).padStart(3, '0')}`)
  const { gateway } = open({
    page: (after: string, limit: number) => {
      asked.push(limit)
      const from = ids.filter((id) => id > after).slice(0, limit)
      return ok(from.map((id) => ({ id }))) as never
    },
  })
  expect((await gateway.list()).map(({ id }) => id)).toEqual(ids)
  // A manifest may have a quarter of a megabyte, and an answer of D1 has its end.
  expect(Math.max(...asked)).toBeLessThanOrEqual(50)
})

it('C3: takes what a Catalog found with its scores', async () => {
  const hit = { id: 'kv__set', score: 2, fit: 2, matched: ['store'] }
  const search = vi.fn<CatalogApi['search']>(() => ok([hit]))
  expect(await open({ search }).gateway.search(['store'], 8)).toEqual([hit])
  expect(search).toHaveBeenCalledWith(['store'], 8)
})

/** A Catalog whose generation the test can raise, and which it can take away. */
function openChanging() {
  const state = { number: 7, epoch: 1, isAway: false, delayMs: 0 }
  const opened = open({
    look: async (known) => {
      const { number, epoch, isAway, delayMs } = state
      if (delayMs > 0) await systemSources.clock.sleep(delayMs)
      if (isAway) throw new Error('away')
      return {
        ok: true,
        value: { number, ...(known !== number && { parts: [partOf('a', { epoch })] }) },
      }
    },
  })
  return { ...opened, state }
}

it('a cached set is answered at once, and refreshed behind the answer', async () => {
  const { gateway, look, state } = openChanging()
  await gateway.snapshot()
  state.number = 8
  state.delayMs = 300
  await vi.advanceTimersByTimeAsync(501)
  const askedAtMs = Date.now()
  expect((await gateway.snapshot()).number).toBe(7)
  expect([Date.now() - askedAtMs, look.mock.calls.length]).toEqual([0, 2])
  await vi.advanceTimersByTimeAsync(300)
  expect((await gateway.snapshot()).number).toBe(8)
})

it('a set that was not used for a minute is read before the answer', async () => {
  const { gateway, state } = openChanging()
  await gateway.snapshot()
  state.number = 8
  await vi.advanceTimersByTimeAsync(60_001)
  expect((await gateway.snapshot()).number).toBe(8)
})

it('F15: while the Catalog is away the last set is answered, however old, and a part is not known to stand', async () => {
  const { gateway, look, state } = openChanging()
  await gateway.snapshot()
  state.isAway = true
  await vi.advanceTimersByTimeAsync(3_600_000)
  look.mockClear()
  expect((await gateway.snapshot()).number).toBe(7)
  await expect(gateway.stands(partOf('a'))).rejects.toMatchObject({ code: 'request_unavailable' })
  for (let times = 0; times < 100; times += 1) await gateway.snapshot()
  // One read and its second attempt: nothing asks again within a second.
  expect(look).toHaveBeenCalledTimes(2)
})

describe('G12: whether a part stands', () => {
  it('is known without a question for a second, and asked for once after that', async () => {
    const { gateway, look } = openChanging()
    await gateway.snapshot()
    await vi.advanceTimersByTimeAsync(500)
    await gateway.stands(partOf('a'))
    expect(look).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(501)
    // The first is what a gate of the call reads: it waits for nothing, and its read serves the call.
    const part = partOf('a')
    const asked = Promise.all([gateway.snapshot(), gateway.stands(part), gateway.stands(part)])
    await vi.advanceTimersByTimeAsync(10)
    await asked
    expect(look).toHaveBeenCalledTimes(2)
  })

  it('is answered by a word of the last second, or not at all', async () => {
    const { gateway, state } = openChanging()
    await gateway.snapshot()
    state.epoch = 2
    state.number = 8
    await vi.advanceTimersByTimeAsync(1_001)
    expect(await gateway.stands(partOf('a'))).toBe(false)
    state.delayMs = 1_100
    await vi.advanceTimersByTimeAsync(1_001)
    const late = expect(gateway.stands(partOf('a', { epoch: 2 }))).rejects.toThrow()
    await vi.advanceTimersByTimeAsync(1_000)
    await late
  })

  it('is asked again as soon as the Catalog said that a part is gone', async () => {
    let tell: (() => Promise<void>) | undefined
    const { gateway, look } = open({
      hold: async (_part, { gone }) => {
        tell = gone
        await never()
      },
    })
    const part = partOf('a')
    expect(await gateway.stands(part)).toBe(true)
    let isGone = false
    void gateway.hold(part, () => void (isGone = true), new AbortController().signal)
    look.mockImplementation(() => ok({ number: 8, parts: [] }))
    await tell!()
    expect([isGone, await gateway.stands(part)]).toEqual([true, false])
  })
})
