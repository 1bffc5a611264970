import { createRandom } from '../fakes/random.ts'

/** A seeded source of what transcripts are made of. */
export type Draw = ReturnType<typeof createDraw>

const lowerAndDigits = 'abcdefghijklmnopqrstuvwxyz0123456789'
/** Without those that look alike, as ids for people are. */
const capitalsAndDigits = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** The same seed and number give the same draws everywhere. */
export function createDraw(seed: number, number: number) {
  // Two neighbours must not be the same sequence, one step apart.
  const random = createRandom(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b))
  const { int } = random
  const pick = <T>(list: readonly T[]): T => {
    const found = list[int(0, list.length - 1)]
    if (found === undefined) throw new Error('Nothing to pick from.')
    return found
  }
  const letters = (of: string, length: number) => {
    let text = ''
    while (text.length < length) text += of[int(0, of.length - 1)]
    return text
  }
  return {
    ...random,
    pick,
    hex: (length: number) => letters('0123456789abcdef', length),
    code: (length: number) => letters(capitalsAndDigits, length),
    slug: (length: number) => letters(lowerAndDigits, length),
    digits: (length: number) => letters('123456789', 1) + letters('0123456789', length - 1),
    /** As many small numbers as large ones: each doubling is as likely. */
    wide: (low: number, high: number) => Math.round(low * (high / low) ** random.next()),
    shuffled: <T>(list: readonly T[]): T[] => {
      const copy = [...list]
      for (let left = copy.length - 1; left > 0; left -= 1) {
        const other = int(0, left)
        const [a, b] = [copy[left]!, copy[other]!]
        copy[left] = b
        copy[other] = a
      }
      return copy
    },
  }
}
