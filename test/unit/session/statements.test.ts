import { describe, expect, it, vi } from 'vitest'
import { runIdAt } from '../../../src/runtime/session/storage/ids.ts'
import { createSessionWorld, settle } from '../../switches/session-world.ts'

describe('a plain run in a session that has had others', () => {
  it('asks the database for its two rows and nothing else', async () => {
    const { wake, storage, failWhere } = createSessionWorld({ script: () => ({ text: 'hi' }) })
    const life = wake()
    await life.run()
    await life.run()
    await settle()
    const asked: string[] = []
    failWhere((query) => asked.push(query) < 0)
    const steps = vi.spyOn(storage, 'transactionSync')
    await life.run()
    await settle()
    const row = expect.stringMatching(/^INSERT INTO log VALUES \(/)
    expect(asked).toEqual([row, row])
    expect(steps).not.toHaveBeenCalled()
  })

  it('looks for a run that is not there without reading the first one again', async () => {
    const { wake, failWhere } = createSessionWorld({ script: () => ({ text: 'hi' }) })
    const life = wake()
    for (let run = 0; run < 3; run += 1) await life.run()
    await settle()
    const first = life.store.runs(1, 1)[0]!
    const missing = runIdAt(4, `run_${'x'.repeat(22)}`)
    expect(life.store.findRun(missing)).toBeUndefined()
    const asked: string[] = []
    failWhere((query) => asked.push(query) < 0)
    expect(life.store.findRun(missing)).toBeUndefined()
    expect(asked).toEqual([])
    expect(life.store.findRun(first.id)?.order).toBe(1)
  })

  it('is carried to the record from memory: the database says only where it is', async () => {
    const { wake, failWhere } = createSessionWorld({ script: () => ({ text: 'hi' }) })
    const life = wake()
    await life.run()
    await life.outbox.flush()
    await life.run()
    const asked: string[] = []
    failWhere((query) => asked.push(query) < 0)
    expect(await life.outbox.flush()).toBe(true)
    expect(asked).toEqual([expect.stringContaining('SELECT run, turn, part, first_seq, last_seq')])
    expect(life.outbox.isEmpty()).toBe(true)
  })
})
