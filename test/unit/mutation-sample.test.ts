import { expect, it } from 'vitest'
import { draw } from '../mutation/sample.mjs'

const mutants = (folder: string, from = 0) =>
  Array.from({ length: 60 }, (_, at) => ({
    id: String(from + at),
    fileName: `${folder}/src/runtime/kernel/leases/ledger.ts`,
    location: { start: { line: at, column: 1 }, end: { line: at, column: 9 } },
    replacement: 'false',
  }))
const drawn = (from: ReturnType<typeof mutants>, seed = '1') => [...draw(from, { count: 20, seed })]

it('draws as many changes as were asked for, and no more than there are', () => {
  expect(drawn(mutants('/a'))).toHaveLength(20)
  expect(draw(mutants('/a').slice(0, 5), { count: 20, seed: '1' }).size).toBe(5)
})

it('draws the same ones of the same code, wherever it lies and whatever their numbers are', () => {
  const numbered = drawn(mutants('/b/sandbox', 100)).map((id) => String(Number(id) - 100))
  expect(numbered).toEqual(drawn(mutants('/a')))
})

it('draws others by another seed', () => {
  expect(drawn(mutants('/a'), '2').toSorted()).not.toEqual(drawn(mutants('/a')).toSorted())
})
