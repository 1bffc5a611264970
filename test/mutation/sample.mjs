// A checker of Stryker that lets so many mutants pass as `--sample` says, drawn by `--seed`: the same ones for the same code.
import { createHash } from 'node:crypto'

/** Names of the two in the environment, since Stryker makes this in a process of its own. */
export const sampleVariable = 'ISOLA_MUTATION_SAMPLE'
export const seedVariable = 'ISOLA_MUTATION_SEED'

/** @returns ids of those that are drawn. */
export function draw(mutants, { count, seed }) {
  const placeOf = ({ fileName, location, replacement }) => {
    const path = fileName.slice(fileName.lastIndexOf('/src/'))
    const { start, end } = location
    const text = [seed, path, start.line, start.column, end.line, end.column, replacement].join(' ')
    return createHash('sha256').update(text).digest('hex')
  }
  const placed = mutants.map((mutant) => ({ id: mutant.id, place: placeOf(mutant) }))
  return new Set(
    placed
      .toSorted((a, b) => (a.place < b.place ? -1 : 1))
      .slice(0, count)
      .map(({ id }) => id),
  )
}

class Sample {
  init = async () => {}
  // All at once, since one is drawn from all.
  group = async (mutants) => [mutants.map(({ id }) => id)]
  async check(mutants) {
    const { [sampleVariable]: count, [seedVariable]: seed } = process.env
    const drawn = draw(mutants, { count: Number(count), seed })
    // A change that is left out counts for nothing, as code that does not compile.
    return Object.fromEntries(
      mutants.map(({ id }) => [
        id,
        { status: drawn.has(id) ? 'passed' : 'compileError', reason: '' },
      ]),
    )
  }
}

export const strykerPlugins = [{ kind: 'Checker', name: 'sample', injectableClass: Sample }]
