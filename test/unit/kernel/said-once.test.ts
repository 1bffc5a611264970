import { expect, it } from 'vitest'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import {
  agentSpec,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
} from '../../fakes/kernel.ts'

/** A run that makes so many calls, one a turn, from a journal that counts how often what a turn said is read. */
async function readsOf(before: number, after: number): Promise<number> {
  let reads = 0
  const counted = (turn: TurnRecord): TurnRecord =>
    Object.defineProperty({ ...turn }, 'steps', {
      enumerable: true,
      get: () => ((reads += 1), turn.steps),
    })
  const runOf = async (calls: number, turns: readonly TurnRecord[]) => {
    const journal = createMemoryJournal(turns)
    const model = createFakeModel((_request, index) =>
      index < calls ? { calls: [{ name: 'read', input: { index } }] } : { text: 'done' },
    )
    const outcome = await createKernel(createKernelParts(model)).run(
      runInput({
        agent: agentSpec({ maxTurns: 10_000, maxToolCalls: 10_000, maxTokens: 100_000_000 }),
        toolset: toolsetOf([toolEntry('read', async () => says('x'))]),
      }),
      runPorts({ journal }),
    )
    expect(outcome.state).toBe('completed')
    return journal.writes.filter(({ isDone, final }) => isDone && !final)
  }
  const turns = await runOf(before, [])
  expect(turns).toHaveLength(before)
  await runOf(after, turns.map(counted))
  return reads / before
}

it('each turn is read a few times, however many come after it', async () => {
  const few = await readsOf(20, 2)
  expect(await readsOf(20, 40)).toBe(few)
  expect(await readsOf(80, 40)).toBe(few)
  expect(few).toBeLessThan(10)
})
