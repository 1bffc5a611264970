import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Measured } from './cells.ts'

/** Far round trips in series of one cell, before each moment. */
export interface Counts {
  readonly asked: number
  readonly firstToken?: number
  readonly answered: number
}

const table = join(import.meta.dirname, 'counts.json')

/** The most far round trips that each cell may have, by its name. The counts only get lower. */
export const readHeld = (): Readonly<Record<string, Counts>> =>
  JSON.parse(readFileSync(table, 'utf8')) as Record<string, Counts>

/** Each measured count becomes its cell's bound if the cell has none or a higher one. */
export function writeHeld(measured: readonly Measured[]): void {
  const held = { ...readHeld() }
  for (const one of measured) {
    const counts = countsOf(one)
    const before = held[one.name] ?? counts
    held[one.name] = {
      asked: Math.min(counts.asked, before.asked),
      ...(counts.firstToken !== undefined && {
        firstToken: Math.min(counts.firstToken, before.firstToken ?? Infinity),
      }),
      answered: Math.min(counts.answered, before.answered),
    }
  }
  writeFileSync(table, `${JSON.stringify(held, null, 2)}\n`)
}

const countsOf = ({ asked, firstToken, answered }: Measured): Counts => ({
  asked: asked.far,
  ...(firstToken && { firstToken: firstToken.far }),
  answered: answered.far,
})

const moments = ['asked', 'firstToken', 'answered'] as const

/** A line for each count that is above its bound, or that has none, with the calls in series. */
export function linesAbove(
  measured: readonly Measured[],
  held: Readonly<Record<string, Counts>>,
): readonly string[] {
  return measured.flatMap((one) =>
    moments.flatMap((moment) => {
      const path = one[moment]
      const most = held[one.name]?.[moment]
      if (!path || (most !== undefined && path.far <= most)) return []
      const names = path.steps.filter(({ isFar }) => isFar).map(({ call }) => call.name)
      return [`${one.name} ${moment}: ${path.far} > ${most ?? 'no bound'}: ${names.join(', ')}`]
    }),
  )
}

/** A line for each bound that could be lower. */
export function linesBelow(
  measured: readonly Measured[],
  held: Readonly<Record<string, Counts>>,
): readonly string[] {
  return measured.flatMap((one) =>
    moments.flatMap((moment) => {
      const [far, most] = [one[moment]?.far, held[one.name]?.[moment]]
      return far !== undefined && most !== undefined && far < most
        ? [`${one.name} ${moment}: ${far} < ${most}`]
        : []
    }),
  )
}
