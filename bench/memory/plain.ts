import { termsOf } from '../../src/runtime/catalog/search/words.ts'
import type { Conversation } from './data.ts'
import { depth } from './scores.ts'

const k1 = 1.2
const b = 0.75

/** BM25 over the text of each turn alone, every word of the question counting. */
export function createPlainRanking({ turns }: Conversation): (query: string) => readonly string[] {
  const texts = turns.map(({ note }) => termsOf(note.text))
  const average = texts.reduce((sum, { length }) => sum + length, 0) / texts.length
  const postings = new Map<string, Map<number, number>>()
  texts.forEach((terms, at) => {
    for (const term of terms) {
      const list = postings.get(term) ?? new Map<number, number>()
      postings.set(term, list.set(at, (list.get(at) ?? 0) + 1))
    }
  })
  return (query) => {
    const scores = new Float64Array(turns.length)
    for (const term of new Set(termsOf(query))) {
      const list = postings.get(term) ?? new Map<number, number>()
      const rarity = Math.log(1 + (turns.length - list.size + 0.5) / (list.size + 0.5))
      for (const [at, frequency] of list) {
        const norm = k1 * (1 - b + (b * texts[at]!.length) / average)
        scores[at]! += (rarity * frequency * (k1 + 1)) / (frequency + norm)
      }
    }
    return [...scores.keys()]
      .filter((at) => scores[at]! > 0)
      .toSorted((one, other) => scores[other]! - scores[one]! || one - other)
      .slice(0, depth)
      .map((at) => turns[at]!.id)
  }
}
