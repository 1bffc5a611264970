import { documentTypes } from '#runtime/kernel/types/knowledge.ts'
import type { MemoryScope, NotePlace, PlaceStats } from '#contracts/long-term.ts'
import type { Label } from '#contracts/label.ts'

export type DocumentType = (typeof documentTypes)[number]

/** Where in its document a passage is; answers cite it. */
export interface PassageSpot {
  /** The headings above the passage, the outermost first. */
  readonly headings?: readonly string[]
  /** From 1, for a document with pages. */
  readonly page?: number
  /** From 1: the passage's first line in the source, for text and Markdown. */
  readonly line?: number
}

/** A piece of a document that search finds on its own. */
export interface NewPassage extends PassageSpot {
  /** 1 to 2,400 characters. */
  readonly text: string
}

/** The description of a document, without its text. */
export interface DocumentInfo {
  readonly id: string
  readonly scope: MemoryScope
  /** The agent, for scope `agent`. */
  readonly agent?: string
  /** Unique in its place: the path or address that the document came from. */
  readonly name: string
  readonly title?: string
  readonly type: DocumentType
  /** Hash of the source: an unchanged document is not written again. */
  readonly hash: string
  readonly passages: number
  readonly chars: number
  readonly label: Label
  readonly addedAtMs: number
  readonly updatedAtMs: number
}

/** A document to be stored. */
type NewDocument = Pick<DocumentInfo, 'name' | 'title' | 'type' | 'hash' | 'chars' | 'label'>

/** A passage that search found. */
export interface FoundPassage extends NewPassage {
  readonly document: Pick<DocumentInfo, 'id' | 'scope' | 'agent' | 'name' | 'title'>
  /** Number of the passage in its document, from 1. */
  readonly part: number
  readonly label: Label
  /** Only comparable within one search. */
  readonly score: number
}

/** A request to a document store. Without `places` it means all places of the store. */
export type KnowledgeRequest =
  | {
      readonly verb: 'put'
      readonly place: NotePlace
      readonly document: NewDocument
      readonly passages: readonly NewPassage[]
      /** The principal that stores the document. */
      readonly by?: string
      /** Returns the outcome, and changes nothing. */
      readonly dryRun?: boolean
    }
  | {
      readonly verb: 'search'
      readonly places?: readonly NotePlace[]
      readonly query: string
      readonly limit: number
    }
  | {
      readonly verb: 'list'
      readonly places?: readonly NotePlace[]
      readonly limit: number
      readonly after?: string
    }
  | { readonly verb: 'get'; readonly id: string }
  /** Forgets the documents with these ids, or all of them. */
  | {
      readonly verb: 'forget'
      readonly places?: readonly NotePlace[]
      readonly ids?: readonly string[]
    }
  /** Forgets the documents that this principal stored last. */
  | { readonly verb: 'forgetWriter'; readonly principal: string }
  | { readonly verb: 'stats' }
  | { readonly verb: 'reseal' }

/** The answer has the fields that the request's verb asks for. */
export interface KnowledgeAnswer {
  /** Outcome of `put`. `same`: the document was there unchanged, and nothing was written. */
  readonly state?: 'added' | 'changed' | 'same'
  readonly documents?: readonly DocumentInfo[]
  readonly passages?: readonly FoundPassage[]
  readonly forgotten?: number
  readonly next?: string
  /** `notes` counts passages. */
  readonly stats?: readonly PlaceStats[]
  readonly key?: 'none' | 'current' | 'rotated'
}

/**
 * One store of documents. May throw `request_invalid`, `request_not_found`, `request_conflict` (a place is full) and
 * `config_…`.
 */
export type KnowledgeStore = (request: KnowledgeRequest) => Promise<KnowledgeAnswer>

/** Reaches the document stores of principals (their agents' included) and of the deployment. */
export interface KnowledgeGateway {
  readonly ofPrincipal: (principal: string) => KnowledgeStore
  readonly ofDeployment: () => KnowledgeStore
}
