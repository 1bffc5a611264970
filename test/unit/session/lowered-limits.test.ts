import { describe, expect, it } from 'vitest'
import { defaultAgentLimits } from '../../../src/contracts/limits.ts'
import { loweredSince, ownLimits } from '../../../src/runtime/session/runs/limits.ts'

const begun = { ...defaultAgentLimits, maxTokens: 50_000, maxTurns: 10 }
const lower = { ...begun, maxTokens: 20_000 }
const raised = (maxTokens: number) => ({
  changed: { limits: { maxTokens, maxTurns: 90 }, count: 1 },
})

describe('E1: limits of an agent that are lowered while its run waits', () => {
  it('change nothing where nothing is lower, and are not met twice', () => {
    expect(loweredSince({}, begun, begun)).toBeUndefined()
    expect(loweredSince({}, begun, { ...begun, maxTokens: 90_000 })).toBeUndefined()
    expect(loweredSince({ lowered: { maxTokens: 20_000 } }, begun, lower)).toBeUndefined()
  })

  it('hold for it from then on, the lower of both in each', () => {
    const met = loweredSince({}, begun, { ...lower, maxTurns: 90, maxPlatformNanoUsd: 5 })!
    expect(met).toEqual({ lowered: { maxTokens: 20_000, maxPlatformNanoUsd: 5 } })
    expect(ownLimits(begun, met)).toMatchObject({
      maxTokens: 20_000,
      maxTurns: 10,
      maxPlatformNanoUsd: 5,
    })
  })

  it('take back what was raised before, and not what is raised afterwards', () => {
    const met = loweredSince(raised(80_000), begun, lower)!
    expect(met.changed?.limits).toEqual({ maxTurns: 90 })
    const again = { lowered: met.lowered!, ...raised(80_000) }
    expect(loweredSince(again, begun, lower)).toBeUndefined()
    const once = loweredSince(again, begun, { ...lower, maxTokens: 10_000 })!
    expect(once).toMatchObject({
      lowered: { maxTokens: 10_000 },
      changed: { limits: { maxTurns: 90 } },
    })
  })

  it('leave alone a limit that was set lower still', () => {
    expect(loweredSince(raised(5_000), begun, lower)?.changed?.limits.maxTokens).toBe(5_000)
  })

  it('hold no more once they are what they were', () => {
    const met = loweredSince({ lowered: { maxTokens: 20_000 } }, begun, begun)!
    expect(met.lowered).toEqual({})
    expect(ownLimits(begun, met)).toMatchObject({ maxTokens: 50_000 })
  })
})
