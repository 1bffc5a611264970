import { describe, expect, it, vi } from 'vitest'
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
})
