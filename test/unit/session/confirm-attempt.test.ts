import { describe, expect, it } from 'vitest'
import { zeroUsage } from '#contracts/lease.ts'
import { asConfirmed } from '../../../src/runtime/session/log/spending.ts'
import { confirmAttempt } from '../../../src/runtime/session/waiting/confirm-attempt.ts'

const settlement = {
  held: { tokens: 5_000, costNanoUsd: 900 },
  spent: { tokens: 0, costNanoUsd: 0 },
}
type Row = Parameters<typeof confirmAttempt>[0]

function above(isOver: boolean) {
  const changes: object[] = []
  const row = { id: 'run_above', order: 1, submission: { principal: 'ann', agent: 'x' } } as Row
  const parts = {
    store: { final: () => (isOver ? {} : undefined), together: (write: () => void) => write() },
    runs: { change: (_row: Row, more: object) => void changes.push(more) },
    todo: { add: () => {} },
    session: 'ses_above',
  } as unknown as Parameters<typeof confirmAttempt>[2]
  const ask = (more: object = {}) =>
    confirmAttempt(row, { run: row.id, id: 'a', settlement, ...more }, parts)
  return { ask, changes }
}

describe('an attempt of a sub-agent whose caller waits', () => {
  it('is refused while a run above is open, and changes nothing', () => {
    const { ask, changes } = above(false)
    expect(() => ask()).toThrow(/run above .* is not over \(run_above in ses_above\)/)
    expect(() => ask({ isLook: true })).toThrow(/is not over/)
    expect(changes).toEqual([])
  })

  it('a look writes nothing; the settlement is written once the run is over', () => {
    const { ask, changes } = above(true)
    ask({ isLook: true })
    expect(changes).toEqual([])
    expect(ask()).toMatchObject({ isNew: true, settlement })
    expect(changes).toEqual([{ confirmed: { a: settlement } }])
  })

  it('no sum falls below nothing', () => {
    const row = { confirmed: { a: settlement } } as unknown as Row
    const usage = { ...zeroUsage, tokens: 100, costNanoUsd: 10 }
    expect(asConfirmed(usage, row)).toMatchObject({
      tokens: 0,
      costNanoUsd: 0,
      unconfirmed: { tokens: 0, costNanoUsd: 0 },
    })
  })
})
