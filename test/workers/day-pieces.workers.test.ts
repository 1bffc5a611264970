import { env } from 'cloudflare:workers'
import { afterEach, expect, it, vi } from 'vitest'
import type { PrincipalApi } from '#runtime/session/types/principal.ts'
import { callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { installUpstream } from '../fakes/upstream.ts'

/** The binding without its methods, whose types are too deep for the compiler. */
const namespace = env.PRINCIPAL as unknown as DurableObjectNamespace
const objectOf = (principal: string) =>
  namespace.getByName(
    sha256(`9:principal${principal.length}:${principal}`),
  ) as unknown as PrincipalApi

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => {
  upstream?.restore()
  vi.restoreAllMocks()
})

/** Polls: a promise of the test would go on in the context of the test. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** Every model call bills 110 tokens. */
const billed = 110

async function newKey(principal: string, dailyTokens: number) {
  const { key } = await callJson('/api/operator/keys', {
    json: { principal, role: 'user', limits: { dailyTokens } },
  })
  const headers = { authorization: `Bearer ${key}` }
  const usage = (): Promise<Answer> => callJson('/api/usage', { headers })
  return {
    usage,
    newSession: async (): Promise<string> =>
      (await callJson('/api/sessions', { json: {}, headers })).id,
    run: (session: string, maxTokens: number): Promise<Answer> =>
      callJson(`/api/sessions/${session}/runs`, {
        json: { task: 'go', wait: true, limits: { maxTokens } },
        headers,
      }),
    /** Every run is settled; the pieces that sessions hold are reserved. */
    settled: (tokens: number) =>
      vi.waitFor(async () =>
        expect(await usage()).toMatchObject({ openRuns: 0, settled: { tokens } }),
      ),
  }
}

it('E1: the next run of a session asks nothing, and what it may spend was reserved before', async () => {
  upstream = installUpstream(() => ({ text: 'hi' }))
  const { usage, newSession, run, settled } = await newKey('paced', 1_000_000)
  const session = await newSession()
  await run(session, 20_000)
  await settled(billed)
  expect(await usage()).toMatchObject({ reserved: { tokens: 20_000 }, openRuns: 0 })
  upstream.restore()
  let isSeen = false
  const { requests } = (upstream = installUpstream(() => ({
    text: 'hi',
    wait: until(() => isSeen),
  })))
  const second = run(session, 20_000)
  await vi.waitFor(() => expect(requests).toHaveLength(1))
  // Still of the piece: no reservation of the run's own was made.
  expect(await usage()).toMatchObject({ reserved: { tokens: 20_000 }, openRuns: 0 })
  isSeen = true
  await second
  await settled(2 * billed)
  expect(await usage()).toMatchObject({ reserved: { tokens: 20_000 } })
})

it('E1: a lowered limit holds for a session that has a piece', async () => {
  upstream = installUpstream(() => ({ text: 'hi' }))
  const principal = 'lowered-day'
  const { newSession, run, settled } = await newKey(principal, 1_000_000)
  const session = await newSession()
  await run(session, 20_000)
  await settled(billed)
  await callJson(`/api/operator/principals/${principal}`, {
    json: { limits: { dailyTokens: 100 } },
  })
  await expect(run(session, 20_000)).rejects.toThrow('insufficient_quota')
})

it('E1: ten sessions that spend at once never pass the day, and none is refused while money is unused', async () => {
  upstream = installUpstream(() => ({ text: 'hi' }))
  const dayTokens = 400_000
  const { usage, newSession, run, settled } = await newKey('ten', dayTokens)
  const sessions = await Promise.all(Array.from({ length: 10 }, newSession))
  const days: Answer[] = []
  const round = async (maxTokens: number) => {
    const runs = sessions.map((session) => run(session, maxTokens))
    days.push(await usage())
    const results = await Promise.all(runs)
    days.push(await usage())
    return results
  }
  for (const count of [1, 2, 3]) {
    for (const result of await round(10_000)) expect(result).toMatchObject({ state: 'completed' })
    await settled(count * 10 * billed)
  }
  const held: number = (await usage()).reserved.tokens
  expect(held).toBeGreaterThanOrEqual(50_000)
  // Another session asks for all that is left, so that every piece has to come back.
  const left = dayTokens - 30 * billed
  const other = await newSession()
  const result = await run(other, left)
  expect(result).toMatchObject({ state: 'completed' })
  const after = await usage()
  expect(after.settled.tokens + after.reserved.tokens).toBeLessThanOrEqual(dayTokens)
  for (const { settled: spent, reserved } of days)
    expect(spent.tokens + reserved.tokens).toBeLessThanOrEqual(dayTokens)
  await settled(31 * billed)
})

it('E1: a session without an answer keeps its piece, and a session that has none gives it back', async () => {
  const principal = objectOf('apart')
  const limits = { tokens: 100, costNanoUsd: Number.MAX_SAFE_INTEGER }
  const asked = { tokens: 40, costNanoUsd: Number.MAX_SAFE_INTEGER }
  const given = await principal.settle(
    {
      principal: 'apart',
      session: 'ses_nowhere',
      run: 'run_a',
      spent: { tokens: 10, costNanoUsd: 0 },
      next: { id: 'next:run_a', asked },
    },
    limits,
  )
  expect(given).toMatchObject({ value: { id: 'next:run_a', amount: { tokens: 40 } } })
  expect(await principal.usage(limits)).toMatchObject({
    value: { settled: { tokens: 10 }, reserved: { tokens: 40 }, openRuns: 0 },
  })
  const request = { principal: 'apart', session: 'ses_other', run: 'run_b', asked }
  expect(
    await principal.reserve({ ...request, asked: { ...asked, tokens: 90 } }, limits),
  ).toMatchObject({ value: { tokens: 90 } })
  expect(await principal.usage(limits)).toMatchObject({
    value: { reserved: { tokens: 90 }, openRuns: 1 },
  })
})
