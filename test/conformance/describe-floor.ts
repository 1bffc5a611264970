import { describe, expect, it } from 'vitest'
import type { Floor } from '../../src/runtime/session/types/floor.ts'
import { floorChangeOf } from '#runtime/session/types/floor.ts'
import type { JsonObject } from '#contracts/json.ts'
import { saidLabel } from '#contracts/label.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { directPlanner, directReflector } from '../../src/features/agents/direct-call.ts'
import { composeKernel } from '../../src/runtime/kernel/compose.ts'
import { addresseeOf } from '../../src/runtime/session/floor/message-router.ts'
import { settleFloor } from '../../src/runtime/session/floor/settle.ts'
import {
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
  toolsetOf,
} from '../fakes/kernel.ts'

/** A tool that takes the conversation, and what it says. */
export interface FloorHarness {
  readonly create: () => ToolEntry | Promise<ToolEntry>
  /** The call that hands over. */
  readonly first: JsonObject
  /** The agent's answer to that, and to `more`. */
  readonly says: readonly [string, string]
  /** The user's words that make it give the conversation back, and its answer to them. */
  readonly last: readonly [string, string]
  /** A person answers in place of an agent: each message waits for an answer. */
  readonly isPerson?: true
}

/**
 * Who has a conversation is a matter of results (X1): whatever the tool is, the same kernel, the same router and the same
 * settlement have its words be the answer, pass the next message on and take the conversation back.
 */
export function describeFloor(name: string, harness: FloorHarness): void {
  const { create, first, says, last, isPerson } = harness

  /** One run, with a person who answers its questions. */
  async function run(entry: ToolEntry, options: RunOptions) {
    const call = { name: entry.tool.name, input: first }
    const model = createFakeModel([{ calls: [call] }, { text: 'the agent itself' }])
    const direct = { planner: directPlanner, reflector: directReflector }
    const kernel = composeKernel({ ...createKernelParts(model), direct })
    const journal = createMemoryJournal()
    const input = runInput({ options: { ...options, pauses: 'park' }, toolset: toolsetOf([entry]) })
    let outcome = await kernel.run(input, runPorts({ journal }))
    if (outcome.state === 'parked') {
      const said = String(Object.values(options.directCall?.input ?? {})[0])
      const output = said === last[0] ? last[1] : says[1]
      const result = { ok: true, output } as const
      outcome = await kernel.run(
        input,
        runPorts({ journal, answerTo: () => ({ kind: 'outcome', result, label: saidLabel }) }),
      )
    }
    if (outcome.state === 'parked') throw new Error('it waits again')
    return { result: outcome, turn: journal.load().at(-1)!, requests: model.requests }
  }
  const pass = (entry: ToolEntry, floor: Floor, text: string) => {
    const { id, holder, terms } = floor
    const { input, monitor, memo } = terms
    const ticket = { id, monitor, label: saidLabel, ...(memo && { memo }) }
    return run(entry, { directCall: { tool: holder, input: { [input]: text }, floor: ticket } })
  }
  const settle = (
    floor: Floor | undefined,
    { result, turn }: Awaited<ReturnType<typeof run>>,
    id?: string,
  ) => {
    const about = { run: 'run_1', floor: id, mayHandOff: id === undefined, nowMs: 1 }
    return settleFloor(floor, { ...about, turn, final: result })
  }
  const addressee = (floor: Floor | undefined) =>
    addresseeOf({ messages: [], options: {}, isBeside: false, isThere: () => true }, floor, 1).to

  describe(`the floor, ${name}`, () => {
    it('Y9, X1: takes the conversation: its words end the run, and no model is asked again', async () => {
      const done = await run(await create(), { mayHandOff: true })
      expect(done.result).toMatchObject({ state: 'completed', result: says[0] })
      expect(done.requests).toHaveLength(1)
      const settled = settle(undefined, done)
      expect(settled?.events.map(({ type }) => type)).toEqual(['floor_taken'])
      expect(addressee(settled?.floor)).toBe('holder')
    })

    it('Y9: acts like any other tool in a session without a user', async () => {
      const done = await run(await create(), {})
      expect(done.result).toMatchObject({ state: 'completed', result: 'the agent itself' })
      expect(done.turn.calls.map(({ outcome }) => floorChangeOf(outcome))).toEqual([])
      expect(settle(undefined, done)).toBeUndefined()
    })

    it('Y24, X1: has each further message until it gives the conversation back', async () => {
      const entry = await create()
      const { floor } = settle(undefined, await run(entry, { mayHandOff: true }))!
      const more = await pass(entry, floor, 'more')
      expect(more.result).toMatchObject({ state: 'completed', result: says[1] })
      expect(more.requests).toHaveLength(0)
      const held = settle(floor, more, floor.id)!
      expect(held).toMatchObject({ floor: { messages: 1 }, events: [] })
      expect(addressee(held.floor)).toBe('holder')
      const back = await pass(entry, held.floor, last[0])
      expect(back.result).toMatchObject({ state: 'completed', result: last[1] })
      const over = settle(held.floor, back, floor.id)!
      // A person gives nothing back: the user or an operator takes it.
      expect(over.floor.end?.reason).toBe(isPerson ? undefined : 'returned')
      expect(addressee(over.floor)).toBe(isPerson ? 'holder' : 'agent')
    })
  })
}
