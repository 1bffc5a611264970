import { execFile } from 'node:child_process'
import { beforeAll, expect, it } from 'vitest'

type Figures = Record<string, readonly number[]>

/**
 * Of each step: rows of all objects, alarms set, statements of all objects, rows of D1 with their indexes; and rows,
 * alarms and rows of D1 of the bill on the record.
 */
async function counted(): Promise<{ readonly counts: Figures; readonly bills: Figures }> {
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, ['bench/rows.mjs'], (failed, stdout, stderr) =>
      failed ? reject(new Error(`${stderr}\n${stdout}`)) : resolve(stdout),
    )
  })
  const lines = output.trim().split('\n')
  const figuresOf = (some: readonly string[]): Figures =>
    Object.fromEntries(
      some.map((line) => {
        const [step = '', ...figures] = line.split(' ')
        return [step, figures.map(Number)]
      }),
    )
  const isBill = (line: string) => line.startsWith('bill ')
  return {
    counts: figuresOf(lines.filter((line) => !isBill(line))),
    bills: figuresOf(lines.filter(isBill).map((line) => line.slice('bill '.length))),
  }
}

let measured: Awaited<ReturnType<typeof counted>>
beforeAll(async () => {
  measured = await counted()
}, 300_000)

it('E9: a run writes what it must until its session rests, and nothing besides', () => {
  const { agent, ...others } = measured.counts
  expect(others).toEqual({
    // The version of a new object's tables is looked at once, which reads no row.
    first: [5, 2, 10, 9],
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

it('E9: the bill of a run is what was really written for it, to the row and to the alarm', () => {
  const { counts, bills } = measured
  const independent = Object.entries(counts).map(([step, [rows, alarms, , inDatabase]]) => [
    step,
    [rows, alarms, inDatabase],
  ])
  const told = Object.entries(bills).map(([step, figures]) => [step, figures.slice(0, 3)])
  expect(told).toEqual(independent)
  for (const [, , , nanoUsd] of Object.values(bills)) expect(nanoUsd).toBeGreaterThan(0)
})
