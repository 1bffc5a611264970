import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'

/** Of each step: rows of all objects, alarms set, statements of all objects, rows of D1 with their indexes. */
async function counted(): Promise<Record<string, readonly number[]>> {
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, ['bench/rows.mjs'], (failed, stdout, stderr) =>
      failed ? reject(new Error(`${stderr}\n${stdout}`)) : resolve(stdout),
    )
  })
  const lines = output.trim().split('\n')
  return Object.fromEntries(
    lines.map((line) => {
      const [step = '', ...figures] = line.split(' ')
      return [step, figures.map(Number)]
    }),
  )
}

it('E9: a run writes what it must until its session rests, and nothing besides', async () => {
  const { agent, ...others } = await counted()
  expect(others).toEqual({
    first: [5, 2, 9, 9],
    plain: [2, 2, 3, 4],
    tool: [3, 2, 5, 4],
    tools10: [12, 2, 14, 4],
    // The alarm has come once, and made rows of the timers: the first run after it writes one again, and no other does.
    woken: [3, 2, 12, 4],
    aged: [2, 2, 4, 4],
  })
  // The child has a timer of its own. How often the parent's turn is written while it waits is a matter of time.
  const [rows, alarms, statements, inDatabase] = agent!
  expect([alarms, inDatabase]).toEqual([4, 9])
  expect(rows).toBeLessThanOrEqual(10)
  expect(statements).toBeLessThanOrEqual(19)
})
