import type {
  KnowledgeRequest,
  KnowledgeAnswer,
  DocumentType,
  NewPassage,
  FoundPassage,
} from '#features/record/types/knowledge.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { MemoryRequest, MemoryAnswer } from '#contracts/long-term.ts'

/** A document has so many passages and characters at most. */
export const maxPassages = 2_000

export const maxDocumentChars = 2_000_000

/** And so many blocks of a text, or elements of a page of the web. */
export const maxParts = 20_000

/** The most documents of a place. A document beyond it is refused: half a collection is of no use. */
export const maxDocumentsOfPlace = 1_000

/** The RPC methods of an object with documents. */
export interface KnowledgeApi {
  readonly knowledge: (request: KnowledgeRequest) => Promise<ObjectReply<KnowledgeAnswer>>
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

/** Most that a place holds; the oldest go first. */
export const maxNotesOfPlace = 10_000

export const maxNoteChars = 4_000

/** The RPC methods of an object with notes. */
export interface MemoryApi {
  readonly memory: (request: MemoryRequest) => Promise<ObjectReply<MemoryAnswer>>
}

/** Whose objects have notes: a principal is in it from its first note on. Throws `request_unavailable`. */
export interface MemoryOwners {
  readonly add: (principal: string) => Promise<void>
  readonly list: () => Promise<readonly string[]>
}

/** A prompt with variables (C4). `{{ name }}`, Jinja syntax. */
export interface PromptTemplate {
  readonly id: string
  readonly version: string
  readonly text: string
  /** Rendering without one of these is an error that names it. */
  readonly requiredVars: readonly string[]
  readonly engine: 'jinja'
  readonly metadata: Readonly<Record<string, string>>
  readonly createdBy: string
}

/** A prompt with its variables filled in, and which template and version it is of. */
export interface RenderedPrompt {
  readonly text: string
  readonly template: string
  readonly version: string
  readonly estimatedTokens: number
}

/** Keeps templates by id and version (I22). Unknown and missing variables are errors, never blanks. */
export interface PromptStore {
  readonly get: (id: string, version?: string) => PromptTemplate | undefined
  readonly list: () => readonly PromptTemplate[]
  /** A new version of an id; the same version twice with another text is refused. */
  readonly put: (template: PromptTemplate) => void
  /** Throws `plugin_prompt_invalid` with what is wrong. */
  readonly validate: (template: PromptTemplate) => void
  readonly render: (
    id: string,
    variables: Readonly<Record<string, unknown>>,
    version?: string,
  ) => RenderedPrompt
}
