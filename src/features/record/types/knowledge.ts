import { documentTypes } from '#runtime/kernel/types/knowledge.ts'
import type { MemoryScope, NotePlace, PlaceStats } from '#contracts/long-term.ts'
import type { Label } from '#contracts/label.ts'

export type DocumentType = (typeof documentTypes)[number]

/** Where in its document a passage is: what an answer cites. */
export interface PassageSpot {
  /** The headings above it, the outermost first. */
  readonly headings?: readonly string[]
  /** From 1. Of a document with pages. */
  readonly page?: number
  /** From 1; where it begins in the source. Of text and Markdown. */
  readonly line?: number
}

/** A piece of a document that is found by itself. */
export interface NewPassage extends PassageSpot {
  /** 1 to 2,400 characters. */
  readonly text: string
}

/** A document as it is told: what it is, not what it says. */
export interface DocumentInfo {
  readonly id: string
  readonly scope: MemoryScope
  /** Of scope `agent`: whose. */
  readonly agent?: string
  /** Unique in its place: the path or address that it came from. */
  readonly name: string
  readonly title?: string
  readonly type: DocumentType
  /** Of what it was made from: the same again changes nothing. */
  readonly hash: string
  readonly passages: number
  readonly chars: number
  readonly label: Label
  readonly addedAtMs: number
  readonly updatedAtMs: number
}

/** A document as somebody puts it. */
type NewDocument = Pick<DocumentInfo, 'name' | 'title' | 'type' | 'hash' | 'chars' | 'label'>

/** A passage that was found. */
export interface FoundPassage extends NewPassage {
  readonly document: Pick<DocumentInfo, 'id' | 'scope' | 'agent' | 'name' | 'title'>
  /** From 1, in its document. */
  readonly part: number
  readonly label: Label
  /** Only comparable within one search. */
  readonly score: number
}

/** What is asked of whoever keeps documents. Where `places` is absent, all that are there are meant. */
export type KnowledgeRequest =
  | {
      readonly verb: 'put'
      readonly place: NotePlace
      readonly document: NewDocument
      readonly passages: readonly NewPassage[]
      /** Who puts it. */
      readonly by?: string
      /** Answers what would become of it, and changes nothing. */
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
  /** Those of these ids, or all of them. */
  | {
      readonly verb: 'forget'
      readonly places?: readonly NotePlace[]
      readonly ids?: readonly string[]
    }
  /** Those that this principal put there last. */
  | { readonly verb: 'forgetWriter'; readonly principal: string }
  | { readonly verb: 'stats' }
  | { readonly verb: 'reseal' }

/** What is answered; what was asked for is there. */
export interface KnowledgeAnswer {
  /** Of a document that was put. `same`: it was there, and nothing was done. */
  readonly state?: 'added' | 'changed' | 'same'
  readonly documents?: readonly DocumentInfo[]
  readonly passages?: readonly FoundPassage[]
  readonly forgotten?: number
  readonly next?: string
  /** `notes` are passages. */
  readonly stats?: readonly PlaceStats[]
  readonly key?: 'none' | 'current' | 'rotated'
}

/** One keeper of documents. May throw `request_invalid`, `request_not_found`, `request_conflict` (a place is full) and `config_…`. */
export type KnowledgeStore = (request: KnowledgeRequest) => Promise<KnowledgeAnswer>

/** Reaches the documents of a principal, its agents' included, and of the deployment. */
export interface KnowledgeGateway {
  readonly ofPrincipal: (principal: string) => KnowledgeStore
  readonly ofDeployment: () => KnowledgeStore
}
