import { describe, expect, it } from 'vitest'
import { createCompactor as byRule } from './compactor.ts'
import { createCompactor as withModel } from './compactors/with-model.ts'
import { generateTranscript } from './generator.ts'
import { scoreTranscript } from './scorer.ts'

// One of each window; `npm run compaction` takes a thousand.
const numbers = [13, 14, 15, 16]

describe.each([
  ['by rule', byRule],
  ['with a model', withModel],
])('the compactor that Isola uses, %s', (_name, createCompactor) => {
  it.each(numbers)(
    'P29: breaks no rule of the judge, and loses nothing (transcript %i)',
    async (number) => {
      const score = await scoreTranscript(generateTranscript(1, number), createCompactor)
      expect(score.broken).toEqual([])
      expect(score.facts.filter(({ pinned, free }) => [pinned, free].includes('lost'))).toEqual([])
      expect(score.clearedFoundAtEnd).toBe(score.cleared)
    },
  )
})
