import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { policyOf, type StoredPart } from '#runtime/catalog/types/generation.ts'
import type { CatalogApi } from '#runtime/catalog/types/plugin-catalog.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { SubmitRequest } from '#runtime/session/types/submission.ts'
import { createCatalogGateway } from '../../../src/runtime/catalog/catalog-gateway.ts'
import { createSubmitAs } from '../../../src/runtime/session/entry/submit-as.ts'
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
    api.look ??
      ((_reader, known) => ok({ number: 7, ...(known !== 7 && { parts: [partOf('a')] }) })),
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

it('a Catalog that does not answer holds up nobody for more than five seconds', async () => {
  const asked = open({ look: never }).gateway.snapshot()
  const refused = expect(asked).rejects.toMatchObject({ code: 'request_unavailable' })
  await vi.advanceTimersByTimeAsync(5_000)
  await refused
})

it('F15: whoever waited once for a Catalog that does not answer does not wait again', async () => {
  const { gateway } = open({ look: never, search: never })
  const first = expect(gateway.snapshot()).rejects.toMatchObject({ code: 'request_unavailable' })
  await vi.advanceTimersByTimeAsync(5_000)
  await first
  const waits: number[] = []
  for (const wait of [0, 500, 1_000, 2_000]) {
    await vi.advanceTimersByTimeAsync(wait)
    const begunAtMs = Date.now()
    for (const ask of [gateway.snapshot(), gateway.around(['x']), gateway.search(['x'], 8)])
      await expect(ask).rejects.toMatchObject({ code: 'request_unavailable' })
    waits.push(Date.now() - begunAtMs)
  }
  expect(waits).toEqual([0, 0, 0, 0])
})

it('F15: whoever waited in vain looks in again later, and not for as long', async () => {
  const { gateway } = open({ look: never })
  const waits: number[] = []
  for (const pause of [0, 11_000, 11_000]) {
    await vi.advanceTimersByTimeAsync(pause)
    const begunAtMs = Date.now()
    const asked = gateway.snapshot().catch(() => void waits.push(Date.now() - begunAtMs))
    await vi.advanceTimersByTimeAsync(6_000)
    await asked
  }
  expect(waits).toEqual([5_000, 1_000, 1_000])
})

it('F15: a search that does not come is a Catalog that does not answer, if a read does not come either', async () => {
  for (const [api, isSilent] of [
    [{ search: never, look: never }, true],
    [{ search: never }, false],
  ] as const) {
    const { gateway } = open(api)
    const search = expect(gateway.search(['x'], 8)).rejects.toThrow()
    await vi.advanceTimersByTimeAsync(5_250)
    await search
    expect(gateway.isSilent()).toBe(isSilent)
  }
})

it('F15: a request that waited where it came in does not wait again where its session is', async () => {
  const [surface, session] = [open({ look: never }).gateway, open({ look: never }).gateway]
  const told: (boolean | undefined)[] = []
  const submitAs = createSubmitAs({
    ...systemSources,
    isCatalogSilent: surface.isSilent,
    sessions: {
      at: () => ({
        submit: async (_id: string, { isCatalogSilent }: SubmitRequest) => {
          told.push(isCatalogSilent)
          if (isCatalogSilent) session.heardOfSilence()
          await session.snapshot().catch(() => {})
        },
      }),
    } as unknown as SessionGateway,
  })
  const request = async () => {
    await surface.snapshot().catch(() => {})
    const ask = { session: 's', agent: 'orchestrator', messages: [] }
    await submitAs({ id: 'ada' }, ask, { origin: 'chat' }).submit()
  }
  const begunAtMs = Date.now()
  const done = request().then(() => Date.now() - begunAtMs)
  await vi.advanceTimersByTimeAsync(20_000)
  expect([await done, told]).toEqual([5_000, [true]])
})

it('F15: who is told of silence and hears something goes by what it hears', async () => {
  const { gateway } = open({})
  await gateway.snapshot()
  gateway.heardOfSilence()
  expect(gateway.isSilent()).toBe(false)
  await vi.advanceTimersByTimeAsync(1_000)
  gateway.heardOfSilence()
  await vi.advanceTimersByTimeAsync(0)
  expect((await gateway.snapshot()).number).toBe(7)
})

it('F15: one that answers again is heard, though nobody waits for it', async () => {
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

it('a read that failed is what everybody is told for a second', async () => {
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

it('F15: one that was killed while it was asked is asked once more', async () => {
  const { gateway, look } = open({})
  look.mockImplementationOnce(() => Promise.reject(new Error('the object was reset')))
  expect((await gateway.snapshot()).number).toBe(7)
})

it('whoever asked first and went away with the answer holds up nobody for long', async () => {
  const { gateway, look } = open({})
  look.mockImplementationOnce(never)
  void gateway.snapshot().catch(() => {})
  await vi.advanceTimersByTimeAsync(100)
  const second = gateway.snapshot()
  await vi.advanceTimersByTimeAsync(1_000)
  expect((await second).number).toBe(7)
})

it('what is read again says what is known, and has its bodies already', async () => {
  const { gateway, look, loaded } = open({})
  const first = await gateway.snapshot()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await gateway.snapshot()).toBe(first)
  expect(look.mock.calls.map(([, known]) => known)).toEqual([undefined, 7])
  expect(loaded).toEqual(['h-a'])
})

it('P25: a set without a body is put together again until it is there', async () => {
  const lost = new Set(['h-a'])
  const { gateway } = open({}, lost)
  expect((await gateway.snapshot()).sources).toEqual({})
  lost.clear()
  await vi.advanceTimersByTimeAsync(1_000)
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

it('one that was not there is looked for again: it may have come', async () => {
  const there: StoredPart[] = []
  const { gateway } = open({ parts: () => ok({ number: 7, parts: there }) })
  expect((await gateway.around(['b'])).pins.plugin).toHaveLength(1)
  there.push(partOf('b'))
  expect((await gateway.around(['b'])).pins.plugin).toHaveLength(2)
})

it('P4: where nobody said which tools may be called it is as shipped', async () => {
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

it('T27: names that nobody knows make one read for all who ask at once, and four a second', async () => {
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

it('what came since the last look is in the latest, though others were looking', async () => {
  const { gateway, look } = open({})
  await gateway.latest()
  look.mockImplementation(() => ok({ number: 8, parts: [partOf('a'), partOf('b')] }))
  await vi.advanceTimersByTimeAsync(1)
  const latest = gateway.latest()
  await vi.advanceTimersByTimeAsync(300)
  expect((await latest).number).toBe(8)
})

it('F15: one whose answer came while something was changed did answer', async () => {
  const { gateway } = open({
    search: never,
    change: async () => {
      await systemSources.clock.sleep(5_050, new AbortController().signal)
      throw new Error('reset')
    },
    look: async () => {
      await systemSources.clock.sleep(100, new AbortController().signal)
      return { ok: true as const, value: { number: 7, parts: [] } }
    },
  })
  const search = expect(gateway.search(['x'], 8)).rejects.toThrow()
  void gateway.change({} as never, {} as never).catch(() => {})
  await vi.advanceTimersByTimeAsync(5_250)
  await search
  expect(gateway.isSilent()).toBe(false)
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
