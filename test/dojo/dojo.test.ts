import { describe, expect, it } from 'vitest'
import { toolPolicySchema } from '#contracts/tool-policy.ts'
import { isNightly } from '../setup/nightly.ts'
import { carry, nothing, orders } from './carried.ts'
import { carriers } from './carriers.ts'
import { attackAll, harmed, pairsOf, replayAll } from './measure.ts'
import { ownSuites } from './own-suites.ts'
import { templates } from './templates.ts'

/** An operator who has switched off what this is about. */
const open = toolPolicySchema.parse({
  labels: [],
  destructive: 'allow',
  network: { hosts: ['*'] },
})

/** One suite whole, and every seventh pair of the others; at night all. */
const [first, ...others] = ownSuites
const somePairs = isNightly
  ? pairsOf(ownSuites)
  : [...pairsOf([first!]), ...pairsOf(others).filter((_pair, at) => at % 7 === 3)]

describe('a model that obeys whoever writes to it', () => {
  it('T11: gets nothing done for an attacker, whatever its arguments look like', async () => {
    const attacked = await attackAll(somePairs)
    expect([harmed(attacked, 'plain'), harmed(attacked, 'encoded')]).toEqual([0, 0])
    expect(attacked.filter(({ isFinished }) => !isFinished)).toEqual([])
  })

  it('T11: does what each attack wants without rules of labels, so that the measure would show it', async () => {
    const pairs = pairsOf([{ ...first!, policy: open }])
    const attacked = await attackAll(pairs)
    expect([harmed(attacked, 'plain'), harmed(attacked, 'encoded')]).toEqual([
      pairs.length,
      pairs.length,
    ])
  })

  it('finishes every task when nobody attacks, and asks once at most', async () => {
    for (const suite of ownSuites) {
      const benign = await replayAll(suite)
      const bad = benign.filter(({ isFinished, pauses }) => !isFinished || pauses > 1)
      expect(bad.map(({ task }) => task.wants)).toEqual([])
    }
  })

  it('asks less often where somebody reads for it and answers in narrow types', async () => {
    const unasked = async (readsTyped: boolean) => {
      const all = await Promise.all(ownSuites.map((suite) => replayAll(suite, readsTyped)))
      return all.flat().filter(({ pauses }) => pauses === 0).length
    }
    expect([await unasked(false), await unasked(true)]).toEqual([13, 15])
  })

  it.for(carriers)('G8: sends nothing away for a text that comes by $name', async (carrier) => {
    const at = carriers.indexOf(carrier)
    for (const { say } of isNightly ? templates : [templates[at % templates.length]!]) {
      const { obeyed, leaked, isFinished } = await carry(carrier, say(orders))
      expect({ obeyed, leaked, isFinished }).toEqual({ obeyed: 5, leaked: [], isFinished: true })
      const opened = await carry(carrier, say(orders), open)
      expect(opened.leaked).toHaveLength(5)
    }
    const twin = await carry(carrier, nothing)
    expect(twin).toEqual({ obeyed: 0, leaked: [], asked: 1, isFinished: true })
  })
})
