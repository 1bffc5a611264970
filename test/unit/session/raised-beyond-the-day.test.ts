import { describe, expect, it } from 'vitest'
import { unlimited, type Limits } from '#contracts/lease.ts'
import type { DayUsage } from '#runtime/session/types/principal.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import { createRunInput, type RunInputParts } from '../../../src/runtime/session/entry/run-input.ts'

const about = { id: 'run_1', session: 'ses_1', agent: 'orchestrator', createdAtMs: 1 }

/** A run that waits at a limit of a principal that has some of its day left, and asks for more. */
async function raise(limits: Partial<Limits>, held: Partial<DayUsage> = {}) {
  const [limit = 'maxTokens'] = Object.keys(limits) as (keyof Limits)[]
  const reached = { code: 'lease_cost', message: '', limit, allowed: 10, spent: 1_000_000_000 }
  const view = { ...about, state: 'parked', pauses: [{ kind: 'budget', reached }] }
  const session = {
    result: async () => ({ ok: true, value: view }),
    changeLimits: async () => ({ ok: true, value: view }),
  }
  const none = { tokens: 0, costNanoUsd: 0 }
  const day = { tokens: unlimited, costNanoUsd: 500_000_000 }
  const principals = {
    usage: async (principal: string, run?: string) => ({
      ...(principal === 'ada' && run === 'run_1' && held),
      limits: limit === 'maxTokens' ? { ...day, tokens: 300 } : day,
      settled: none,
      reserved: held.reserved ?? none,
    }),
  }
  const sessions = { at: () => session } as unknown as SessionGateway
  const usage = principals.usage as unknown as RunInputParts['usage']
  return createRunInput({ sessions, usage }).changeLimits(
    { principal: 'ada' },
    { session: 'ses_1', run: 'run_1' },
    { limits, isOperator: false },
  )
}

describe('a limit that is raised beyond the day', () => {
  it('E1: is refused by the name that the request has for it, with how far it may go in dollars', async () => {
    await expect(raise({ maxCostNanoUsd: 2_000_000_000 })).rejects.toMatchObject({
      code: 'request_forbidden',
      param: 'maxCostUsd',
      message:
        'maxCostUsd: the day of this principal has $0.5 left, so this run may have a limit of $1.5. An operator may raise it further.',
    })
  })

  it('E1: is none where the day is used up by what the run holds itself', async () => {
    const reserved = { tokens: 0, costNanoUsd: 500_000_000 }
    const most = { tokens: unlimited, costNanoUsd: 1_400_000_000 }
    const held = { reserved, most }
    await expect(raise({ maxCostNanoUsd: 1_400_000_000 }, held)).resolves.toMatchObject(about)
    const message = expect.stringContaining('has $0.4 left, so this run may have a limit of $1.4.')
    await expect(raise({ maxCostNanoUsd: 1_400_000_001 }, held)).rejects.toMatchObject({ message })
  })

  it('E1: is refused with how many tokens it may have', async () => {
    await expect(raise({ maxTokens: 2_000_000_000 })).rejects.toMatchObject({
      param: 'maxTokens',
      message: expect.stringContaining('has 300 tokens left'),
    })
  })
})
