import { describe, expect, it } from 'vitest'
import type { RunOutcome } from '#contracts/run-view.ts'
import { decideCalls } from '../../../src/sessions/waiting/outside.ts'
import { agentSpec, says, sha256, toolEntry } from '../../fakes/kernel.ts'
import {
  createSessionWorld,
  pauseMs,
  session,
  type WorldOptions,
} from '../../switches/session-world.ts'

const asked = { mayRaise: true } as const

function setUp(options: Partial<WorldOptions> = {}) {
  const world = createSessionWorld({ script: () => ({ text: 'hi' }), ...options })
  type Life = ReturnType<typeof world.wake>
  return {
    ...world,
    async deny(life: Life, outcome: RunOutcome): Promise<RunOutcome> {
      const { call } = pausesIn(outcome)[0]!
      const decisions = [{ call, decision: { decision: 'deny' } as const }]
      const about = { decisions, nowMs: world.clock.nowMs(), pauseMs, sha256 }
      decideCalls(life.row(outcome.id), about, life)
      return life.runs.live(outcome.id)!.done
    },
  }
}

const pausesIn = (outcome: RunOutcome) => (outcome.state === 'parked' ? outcome.pauses : [])

describe('E1: a run whose limit stays as it was', () => {
  const ran: string[] = []
  const entries = [
    toolEntry('deep', async () => says('done'), {
      spends: { ...agentSpec().limits, maxDepth: -1 },
    }),
    toolEntry('child', async () => (ran.push('child'), says('done')), {
      spends: agentSpec().limits,
    }),
    toolEntry('a', async () => (ran.push('a'), says('a'))),
  ]

  it('takes nothing of what its session has not either', async () => {
    ran.length = 0
    const script: WorldOptions['script'] = () => ({ calls: [{ name: 'deep' }, { name: 'a' }] })
    const world = setUp({ entries, script })
    const life = world.wake({ id: session, limits: { maxToolCalls: 0 } })
    const parked = await life.run(asked)
    expect(pausesIn(parked)).toMatchObject([{ reached: { code: 'lease_depth' } }])
    const over = await world.deny(life, parked)
    expect(over).toMatchObject({ state: 'stopped', error: { code: 'lease_depth' } })
    expect(ran).toEqual([])
  })

  it('takes nothing of what its day has not either', async () => {
    ran.length = 0
    const script: WorldOptions['script'] = () => ({ calls: [{ name: 'deep' }, { name: 'child' }] })
    const reserve = async () => ({ tokens: 400, costNanoUsd: 0 })
    const world = setUp({ entries, script, reserve })
    const life = world.wake({ id: session })
    const parked = await life.run(asked)
    expect(pausesIn(parked)).toMatchObject([{ reached: { code: 'lease_depth' } }])
    const over = await world.deny(life, parked)
    expect(over).toMatchObject({ state: 'stopped', error: { code: 'lease_depth' } })
    expect(ran).toEqual([])
  })
})
