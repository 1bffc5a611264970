import { expect, it } from 'vitest'
import type { CallRecord } from '#runtime/kernel/types/journal.ts'
import type { PlanStep } from '#runtime/kernel/types/plan.ts'
import { toTurnSaid } from '#runtime/kernel/types/turn-said.ts'
import { modelPlanner } from '../../../src/features/agents/model-planner.ts'
import type { PlannerState } from '#runtime/kernel/types/plan.ts'
import { checkPlan } from '../../../src/runtime/kernel/check-plan.ts'

it('A11: a field that a service wants back survives a crash, in the row of its turn', async () => {
  const opaque = { service: 's', reply: { reasoning_content: 'hm' }, call: { signature: 'x' } }
  const reply = {
    text: 'I look.',
    toolCalls: [{ id: 'a', name: 'look', input: { at: 1 }, opaque }],
  }
  const state = {
    agent: { parameters: {} },
    turn: 1,
    tools: [],
    messages: [],
    generate: async () => reply,
  } as unknown as PlannerState
  const planned = checkPlan(await modelPlanner.plan(state), 1, () => 'hash')
  const steps = JSON.parse(JSON.stringify(planned)) as readonly PlanStep[]
  const { messages } = toTurnSaid({ steps, calls: [] as CallRecord[], events: [] })
  expect(messages).toMatchObject([
    { role: 'assistant', text: 'I look.', toolCalls: [{ name: 'look', opaque }] },
  ])
})
