import { describe, expect, it } from 'vitest'
import { directPlanner, directReflector } from '../../../src/features/agents/direct-call.ts'
import type { PlannerState, ReflectorState } from '../../../src/runtime/kernel/types/plan.ts'

const directCall = { tool: 'kv__get', input: { key: 'a' } }
const agent = { id: 'orchestrator' } as PlannerState['agent']
const state = (more: Partial<PlannerState>): PlannerState =>
  ({
    caller: { options: { directCall } },
    agent,
    turn: 1,
    messages: [],
    generate: async () => {
      throw new Error('no model is asked')
    },
    ...more,
  }) as unknown as PlannerState

describe('a direct call', () => {
  it('is the one step of its run, and no model is asked', async () => {
    expect(await directPlanner.plan(state({}))).toMatchObject([
      { type: 'tool', toolId: 'isola__call', input: { name: 'kv__get', input: { key: 'a' } } },
    ])
  })

  it.each([
    [{ ok: true, output: 7 } as const, { ok: true, call: 'c1', output: 7 }],
    [
      { ok: false, error: { code: 'tool_denied', message: 'No.' } } as const,
      { ok: false, call: 'c1', code: 'tool_denied', message: 'No.' },
    ],
  ])('ends its run with what came of it', async (result, output) => {
    const actions = [{ callId: 'c1', toolId: 'kv__get', result }]
    const reflected = { agent, turn: 1, steps: [], actions } as unknown as ReflectorState
    const reflection = await directReflector.reflect(reflected)
    expect(reflection).toMatchObject({ decision: 'finish', output })
  })

  it('is made once, also if something is said to its run on its way', async () => {
    const output = { error: { code: 'tool_denied', message: 'No.' } }
    const said = { role: 'tool', callId: 'c1', name: 'isola__call', taint: [] } as const
    const messages = [{ ...said, output, isError: true }]
    const [step, ...more] = await directPlanner.plan(state({ turn: 2, messages }))
    expect([step, more]).toEqual([
      {
        type: 'finish',
        message: 'The call was made.',
        output: { ok: false, call: 'c1', code: 'tool_denied', message: 'No.' },
      },
      [],
    ])
    const fine = await directPlanner.plan(
      state({ turn: 2, messages: [{ ...said, output: 7, isError: false }] }),
    )
    expect(fine).toMatchObject([{ output: { ok: true, call: 'c1', output: 7 } }])
  })
})
