import { describe, expect, it } from 'vitest'
import type { ApprovalRequest } from '#contracts/approval.ts'
import type { ApprovalRule } from '../../../src/runtime/session/types/approval.ts'
import type { Decider } from '../../../src/runtime/kernel/types/pause.ts'
import { createRunInputs } from '../../../src/runtime/session/run-inputs.ts'
import { createSessionAccess } from '../../../src/runtime/session/session-parts.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import { createKernelParts, openGates, says, sha256, toolEntry } from '../../fakes/kernel.ts'
import { createSessionWorld, never, session, settle } from '../../switches/session-world.ts'

const decider: Decider = { principal: 'operator', role: 'operator', via: 'session' }
const approval: ApprovalRequest = {
  id: 'apr_1',
  approver: 'owner',
  asker: { principal: 'operator', agent: 'tester', session, run: 'run_1' },
  reason: 'destructive',
  rule: '',
  sinks: [],
  isDestructive: true,
  argsHash: 'hash',
  shape: 'shape',
}
const gates = { ...openGates, approvals: { isNeeded: () => ({ approval }) } }

/** A run with two calls that wait for a yes, and who takes it. */
async function setUp(add: (rule: ApprovalRule) => Promise<void>) {
  const world = createSessionWorld({
    script: (_request, index) =>
      index === 0
        ? { calls: ['a', 'b'].map((to) => ({ name: 'mail', input: { to } })) }
        : { text: 'done' },
    entries: [toolEntry('mail', async () => says('sent'), { isReadOnly: false })],
    others: { cancelCall: () => never },
  })
  const { clock, ids } = world.runtime
  const kernel = createKernel(createKernelParts(world.model, { clock, ids, sha256, gates }))
  Object.assign(world.runtime, { kernel, approvalRules: { add } })
  const life = world.wake({ id: session })
  const outcome = await life.run()
  expect(outcome).toMatchObject({ state: 'parked' })
  const pauses = outcome.state === 'parked' ? outcome.pauses : []
  const access = createSessionAccess({
    runtime: world.runtime,
    identity: { id: session },
    current: { parts: life },
    isDeleting: () => false,
    sync: async () => {},
  })
  const inputs = createRunInputs(access, () => never, { revoke: () => never })
  const yes = (at: number) =>
    inputs.decide('operator', outcome.id, {
      call: pauses[at]!.call,
      decision: { decision: 'approve', argsHash: pauses[at]!.argsHash, also: 'session' },
      decider,
    })
  const state = () => life.store.final(1)?.state
  return { world, life, yes, state, run: outcome.id }
}

describe('a yes that also allows later calls', () => {
  it('E6: is there with its rule when the run goes on', async () => {
    const rules: ApprovalRule[] = []
    const { yes, state } = await setUp(async (rule) => void rules.push(rule))
    await Promise.all([yes(0), yes(1)])
    expect(rules).toHaveLength(2)
    await settle()
    expect(state()).toBe('completed')
  })

  it('E6: does not keep its run waiting where rules cannot be kept just now', async () => {
    const { world, life, yes, state } = await setUp(() => never)
    const told = Promise.all([yes(0), yes(1)])
    await settle()
    await world.clock.advance(1_000)
    await settle()
    expect(state()).toBe('completed')
    expect(await told).toHaveLength(2)
    expect(life.todo.errands().filter(({ errand }) => 'rule' in errand)).toHaveLength(2)
  })

  it('E6: does not wait for what is on its way to another session', async () => {
    const { world, life, yes, state, run } = await setUp(async () => {})
    life.todo.add({ kind: 'cancel', session: 'ses_2', run, call: 'call_9', reason: 'stop' })
    void life.courier.carry()
    void Promise.all([yes(0), yes(1)])
    await settle()
    await world.clock.advance(1_000)
    await settle()
    expect(state()).toBe('completed')
  })

  it('E6: wakes its run where what there is to carry cannot be read', async () => {
    const { world, life, yes, state } = await setUp(async () => {})
    await yes(0)
    Object.assign(life.courier, { carry: () => Promise.reject(new Error('SQLITE_IOERR')) })
    await yes(1)
    await settle()
    expect(state()).toBe('completed')
    expect(world.told).toEqual([])
  })
})
