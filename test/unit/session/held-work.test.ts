import { describe, expect, it } from 'vitest'
import type { HeldWork } from '#runtime/session/types/principal.ts'
import { says, toolEntry } from '../../fakes/kernel.ts'
import {
  createSessionWorld,
  never,
  session,
  settle,
  type WorldOptions,
} from '../../switches/session-world.ts'

/** A principal's object that writes down what it is told; `fail` breaks its next `release`. */
function createHeld() {
  const said: string[] = []
  let failures = 0
  const held: HeldWork = {
    hold: async ({ credentials, upTo }) => void said.push(`hold ${credentials} ${upTo}`),
    async release({ credentials, upTo }) {
      if (failures > 0) {
        failures -= 1
        throw new Error('away')
      }
      said.push(`release ${credentials} ${upTo}`)
    },
  }
  return { said, held, fail: () => (failures = 1) }
}

const setUp = (options: Partial<WorldOptions> = {}) => {
  const world = createSessionWorld({
    ...options,
    script: (_request, index) =>
      index === 0 ? { calls: [{ name: 'mail', input: { to: 'a' } }] } : { text: 'done' },
    entries: [
      toolEntry('mail', async () => says('sent'), { isReadOnly: false, needsApproval: true }),
    ],
  })
  const object = createHeld()
  /** From now on the work is noted. */
  const know = () => Object.assign(world.runtime, { held: object.held })
  return { world, know, ...object }
}

describe('the noted work that goes on with a key', () => {
  it('G12: has a call that began to wait in a version that noted nothing, once its object wakes', async () => {
    const { world, know, said } = setUp()
    const outcome = await world.wake().run({ key: 'key_1' })
    expect(outcome.state).toBe('parked')
    know()
    world.wake().runs.resume()
    await settle()
    expect(said).toEqual(['hold key_1 1'])
  })

  it('G12: ends with a run that an earlier life left and this one gives up', async () => {
    const { world, know, said } = setUp()
    know()
    const outcome = await world.wake().run({ key: 'key_1' })
    const life = world.wake()
    const row = life.row(outcome.id)
    life.store.writeRun({ ...row, wakeTurn: 1, wakes: 9, cancelReason: 'stop' })
    life.runs.resume()
    await settle()
    expect(life.store.final(1)?.state).toBe('failed')
    expect(said).toEqual(['hold key_1 1', 'release key_1 1'])
  })

  it('G12: ends also where it could not be said at once', async () => {
    const { world, know, said, fail } = setUp()
    know()
    const life = world.wake()
    const outcome = await life.run({ key: 'key_1' })
    fail()
    life.runs.cancel(life.row(outcome.id), 'stop')
    await life.runs.live(outcome.id)?.done
    await settle()
    expect(life.todo.errands().map(({ errand }) => errand)).toContainEqual(
      expect.objectContaining({ kind: 'settle', session, run: outcome.id }),
    )
    await life.courier.carry()
    expect(said.at(-1)).toBe('release key_1 1')
    expect(life.todo.errands()).toEqual([])
  })

  it('G12: is what a session says of itself, while a run of the key works or waits', async () => {
    const { world, know } = setUp()
    know()
    let life = world.wake()
    const outcome = await life.run({ key: 'key_1' })
    expect([life.runs.worksWith('key_1'), life.runs.worksWith('key_2')]).toEqual([true, false])
    life = world.wake()
    expect(life.runs.worksWith('key_1')).toBe(true)
    life.runs.cancel(life.row(outcome.id), 'stop')
    await life.runs.live(outcome.id)?.done
    expect(life.runs.worksWith('key_1')).toBe(false)
  })

  it('G12: is also a run that has no row yet, and nothing once its object fell before it had one', async () => {
    const { world, know, said } = setUp({ reserve: () => never })
    know()
    const life = world.wake()
    void life.run({ key: 'key_1' })
    await settle()
    expect(said).toEqual(['hold key_1 1'])
    expect(life.store.session()).toBeUndefined()
    expect(life.runs.worksWith('key_1')).toBe(true)
    expect(world.wake().runs.worksWith('key_1')).toBe(false)
  })
})
