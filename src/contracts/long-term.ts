import type { Label } from './label.ts'

/** Whose a note is: a principal's, one agent's within a principal, or the deployment's. None is seen from another. */
export const memoryScopes = ['principal', 'agent', 'deployment'] as const
export type MemoryScope = (typeof memoryScopes)[number]

/** A scope as its object knows it. */
export type NotePlace = 'principal' | 'deployment' | `agent:${string}`

/**
 * The kinds of notes. A `turn` is a part of a conversation: two turns with the same text stay two notes, other notes
 * are merged.
 */
export const noteKinds = ['note', 'fact', 'preference', 'turn'] as const
export type NoteKind = (typeof noteKinds)[number]

/** Where a note came from. */
interface NoteOrigin {
  readonly principal?: string
  readonly session?: string
  readonly run?: string
  readonly agent?: string
  readonly tool?: string
}

/** A note before it is stored. */
export interface NewNote {
  /** 1 to 4,000 characters. */
  readonly text: string
  readonly kind?: NoteKind
  /** The speaker; 100 characters. */
  readonly speaker?: string
  /** The caption of an image beside it; 1,000 characters. */
  readonly caption?: string
  /** When it was so, in words; 60 characters. */
  readonly date?: string
  /**
   * Turns of one conversation are found by their neighbours too, in the order in which they were written. 200
   * characters.
   */
  readonly conversation?: string
  readonly origin?: NoteOrigin
  /** Id of the note of the same place that this one takes the place of, its id too. */
  readonly replaces?: string
  /** Who can have written it and who may read it; least trusted if absent. */
  readonly label?: Label
}

/** A note that is kept. */
export interface Note extends Omit<NewNote, 'origin' | 'replaces' | 'kind' | 'label'> {
  readonly id: string
  readonly scope: MemoryScope
  /** The agent, for scope `agent`. */
  readonly agent?: string
  readonly kind: NoteKind
  readonly label: Label
  /** Several where notes that say the same were merged. */
  readonly origins: readonly NoteOrigin[]
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Ids of notes that were there and say something else of much the same: both are kept, with their dates. */
  readonly differsFrom?: readonly string[]
}

/** The outcome for one note of an addition. */
export interface AddedNote {
  readonly id: string
  /**
   * `merged`: a note with the same text existed, and gets this origin, too. `replaced`: the note takes the place of
   * the note that it named.
   */
  readonly state: 'added' | 'merged' | 'replaced'
  readonly differsFrom?: readonly string[]
}

/** The requests to an object with notes. Where `places` is absent, all places of the object are meant. */
export type MemoryRequest =
  | {
      readonly verb: 'add'
      readonly place: NotePlace
      readonly notes: readonly NewNote[]
      /** So many this run may add or merge, this request included. */
      readonly budget?: { readonly run: string; readonly most: number }
      /** Answers what would become of them, and changes nothing. */
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
      /** `next` of the page before. */
      readonly after?: string
    }
  | { readonly verb: 'get'; readonly places?: readonly NotePlace[]; readonly id: string }
  | {
      readonly verb: 'edit'
      readonly id: string
      readonly change: Omit<NewNote, 'text' | 'conversation' | 'origin' | 'replaces'> & {
        readonly text?: string
      }
    }
  /** The notes with these ids, or of a session; all of them if neither is given. */
  | {
      readonly verb: 'forget'
      readonly places?: readonly NotePlace[]
      readonly ids?: readonly string[]
      readonly session?: string
    }
  /** The notes with any origin in this principal. */
  | { readonly verb: 'forgetWriter'; readonly principal: string }
  | { readonly verb: 'stats' }
  /** Seals the key anew where it is sealed under another than today's master key. */
  | { readonly verb: 'reseal' }

/** A note that was found. */
export interface FoundNote extends Note {
  /** BM25 over it and its neighbours; only comparable within one search. */
  readonly score?: number
}

/** An object's answer; only the requested fields are set. */
export interface MemoryAnswer {
  readonly notes?: readonly FoundNote[]
  readonly added?: readonly AddedNote[]
  /** How many had to go since the place was full. */
  readonly evicted?: number
  readonly forgotten?: number
  /** Where the next page begins; absent on the last. */
  readonly next?: string
  readonly stats?: readonly PlaceStats[]
  readonly key?: 'none' | 'current' | 'rotated'
}

/** How much a place holds. */
export interface PlaceStats {
  readonly scope: MemoryScope
  readonly agent?: string
  readonly notes: number
  readonly bytes: number
}

/**
 * One object's notes. May throw `request_invalid`, `request_not_found`, `tool_failed` (a budget) and `config_…` (no
 * key).
 */
export type LongTermMemory = (request: MemoryRequest) => Promise<MemoryAnswer>

/**
 * Reaches the notes of a principal, its agents' included, and of the deployment. Throws what the object does, and
 * `request_unavailable`.
 */
export interface MemoryGateway {
  readonly ofPrincipal: (principal: string) => LongTermMemory
  readonly ofDeployment: () => LongTermMemory
}
