import { describe, expect, it } from 'vitest'
import { toolPolicySchema } from '#contracts/tool-policy.ts'
import { attackAll, harmed, pairsOf, replayAll } from './measure.ts'
import { ownSuites } from './own-suites.ts'

describe('a model that obeys whoever writes to it', () => {
  it('finishes every task when nobody attacks', async () => {
    for (const suite of ownSuites) {
      const benign = await replayAll(suite)
      const unfinished = benign.filter(({ isFinished }) => !isFinished)
      expect(unfinished.map(({ task }) => task.wants)).toEqual([])
    }
  })

  it('does what each attack wants where nothing asks, so that the measure would show it', async () => {
    const [first] = ownSuites
    const policy = toolPolicySchema.parse({ destructive: 'allow' })
    const pairs = pairsOf([{ ...first!, policy }])
    const attacked = await attackAll(pairs)
    expect(harmed(attacked, 'plain')).toBe(pairs.length)
    expect(harmed(attacked, 'encoded')).toBe(pairs.length)
  })
})
