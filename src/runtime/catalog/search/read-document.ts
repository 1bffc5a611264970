import type { ReadSearchDocument, SearchDocument } from '#contracts/search.ts'
import { splitExclusions } from './exclusions.ts'
import type { FieldWeight } from './settings.ts'
import { createTermReader, isPair, queryTerms } from './words.ts'

/**
 * Reads documents, each word once: this takes nearly all the time of building an index. The Catalog's object stores the
 * result. So a change of the reading (words, stems, exclusions, fields and their weights) needs a step in
 * `src/compose/object-upgrades.ts` that has all tools read anew. A test detects such a change.
 */
export function createDocumentReader(
  fields: readonly FieldWeight[],
): (document: SearchDocument) => ReadSearchDocument {
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
