import type {
  KnowledgeRequest,
  KnowledgeAnswer,
  DocumentType,
  NewPassage,
  FoundPassage,
} from '#features/record/types/knowledge.ts'
import type { Reply } from '#contracts/reply.ts'

/** A document has so many passages and characters at most. */
export const maxPassages = 2_000

export const maxDocumentChars = 2_000_000

/** And so many blocks of a text, or elements of a page of the web. */
export const maxParts = 20_000

/** The most documents of a place. A document beyond it is refused: half a collection is of no use. */
export const maxDocumentsOfPlace = 1_000

/** The RPC methods of an object with documents. */
export interface KnowledgeApi {
  readonly knowledge: (request: KnowledgeRequest) => Promise<Reply<KnowledgeAnswer>>
}

/** Makes passages of a document that a caller sends. Throws `request_invalid` that names the field. */
export type ReadDocument = (given: {
  readonly type: DocumentType
  readonly text?: string
  readonly pages?: readonly string[]
}) => Promise<{ readonly title?: string; readonly passages: readonly NewPassage[] }>

/** Where a passage is, for a citation: `docs/memory.md, “Memory › Yours”, line 33`. */
export function citationOf({
  document,
  headings = [],
  page,
  line,
  part,
}: Omit<FoundPassage, 'text' | 'label' | 'score'>): string {
  const under = headings.length === 0 ? '' : `, “${headings.join(' › ')}”`
  const at =
    page !== undefined ? `page ${page}` : line !== undefined ? `line ${line}` : `part ${part}`
  return `${document.name}${under}, ${at}`
}
