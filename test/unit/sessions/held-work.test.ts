import { describe, expect, it } from 'vitest'
import type { HeldWork } from '#contracts/held-work.ts'
import { says, toolEntry } from '../../fakes/kernel.ts'
import { createSessionWorld, settle, session } from '../../switches/session-world.ts'

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

const setUp = () => {
  const world = createSessionWorld({
    script: (_request, index) =>
      index === 0 ? { calls: [{ name: 'mail', input: { to: 'a' } }] } : { text: 'done' },
    entries: [
      toolEntry('mail', async () => says('sent'), { isReadOnly: false, needsApproval: true }),
    ],
  })
  const object = createHeld()
  /** From now on somebody is told. */
  const know = () => Object.assign(world.runtime, { held: object.held })
  return { world, know, ...object }
}

describe('what is known of work that goes on with a key', () => {
  it('G12: has a call that began to wait in a version that told nobody, once its object wakes', async () => {
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
})
