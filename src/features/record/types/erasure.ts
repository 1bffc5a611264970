import type { Administrator } from '#contracts/keys.ts'

/** The person to be erased. */
export interface ErasedPerson {
  readonly principal: string
  /** Replaces the name on the record: random, and of no help in finding the person. */
  readonly pseudonym: string
}

/** The result of one step at a place. */
interface ErasedStep {
  /** How many items were deleted or made nameless. */
  readonly erased: number
  /** Where the next step begins, if there is more. */
  readonly next?: number
}

/**
 * A place that may contain a person's data. A step is bounded, and a repeated step finds nothing left of the first
 * one. Throws if the place cannot be reached now: the erasure tries it again.
 */
export interface ErasurePlace {
  readonly name: string
  readonly erase: (person: ErasedPerson, after: number) => Promise<ErasedStep>
}

/** How far an erasure has come: passes over all places, until a whole pass finds nothing. */
export interface ErasureProgress {
  /** Counts from 1. */
  readonly pass: number
  /** Index of the next place in this pass, and where to go on in it. */
  readonly place: number
  readonly after: number
  /** Items found in this pass. */
  readonly found: number
  /** How many passes in a row had a failure. */
  readonly tries: number
  /** Items erased by place, over all passes. */
  readonly erased: Readonly<Record<string, number>>
  /** The last failure of each place, without the person's name. */
  readonly problems: Readonly<Record<string, string>>
}

/** An erasure, under way or done. */
export interface Erasure {
  /** The pseudonym. */
  readonly id: string
  /** The person; after the end the pseudonym. */
  readonly principal: string
  readonly state: 'running' | 'done'
  /** An operator, or `self`. */
  readonly askedBy: string
  readonly askedAtMs: number
  /** When the erasure goes on; absent once it is done. */
  readonly nextMs?: number
  readonly progress: ErasureProgress
}

/** The table of erasures. Every verb may throw `request_unavailable`. */
export interface ErasureStore {
  /**
   * Writes the erasure, and ends every key and sign-in of the person, in one transaction. Returns the running erasure
   * if there is one.
   */
  readonly begin: (erasure: Erasure, by: Administrator) => Promise<Erasure>
  readonly find: (id: string) => Promise<Erasure | undefined>
  /** Newest first. */
  readonly list: (limit: number) => Promise<readonly Erasure[]>
  /** The running erasures, the next due first. */
  readonly running: (limit: number) => Promise<readonly Erasure[]>
  readonly save: (erasure: Erasure) => Promise<void>
  /** Ends the erasure: its own row loses the name, too. */
  readonly finish: (erasure: Erasure, nowMs: number) => Promise<void>
}

/** Erases persons. Throws `request_invalid`, `request_not_found` and `request_unavailable`. */
export interface ErasureAdministration {
  /** Begins an erasure, or returns the running one. `isSelf`: the person asked. */
  readonly begin: (principal: string, by: Administrator, isSelf: boolean) => Promise<Erasure>
  readonly find: (id: string) => Promise<Erasure>
  readonly list: (limit: number) => Promise<readonly Erasure[]>
}
