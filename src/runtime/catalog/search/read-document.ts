import type { ReadDocument, SearchDocument } from '#contracts/search.ts'
import { splitExclusions } from './exclusions.ts'
import type { FieldWeight } from './settings.ts'
import { createTermReader, isPair, queryTerms } from './words.ts'

/**
 * Reads documents, the words of all of them once: nearly all the time that an index takes is this. The Catalog's object
 * keeps what comes of it: a change of what a text comes to here (words, stems, exclusions, fields and their weights)
 * takes a step of `src/compose/object-upgrades.ts` that has all tools read anew. A test knows when.
 */
export function createDocumentReader(
  fields: readonly FieldWeight[],
): (document: SearchDocument) => ReadDocument {
  const termsOf = createTermReader()
  return (document) => {
    const { positive, excluded } = splitExclusions(document.description)
    const told = { ...document, description: positive }
    const counts = new Map<string, number>()
    let length = 0
    for (const [field, weight, lengthens] of fields) {
      const terms = termsOf(told[field] ?? '')
      length += terms.filter((term) => !isPair(term)).length * lengthens
      for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + weight)
    }
    return {
      id: document.id,
      owner: document.owner,
      length,
      terms: [...counts.keys()],
      counts: [...counts.values()],
      names: [...new Set(termsOf(document.name))],
      excluded:
        excluded === '' ? [] : [...queryTerms(excluded).keys()].filter((term) => !counts.has(term)),
    }
  }
}
