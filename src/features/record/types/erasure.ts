import type { Administrator } from '#contracts/keys.ts'

/** Somebody who is erased. */
export interface ErasedPerson {
  readonly principal: string
  /** What the record has in their place from now on: random, and of no use to find out who it was. */
  readonly pseudonym: string
}

/** One step at a place. */
export interface ErasedStep {
  /** How many things were taken away or made nameless. */
  readonly erased: number
  /** There is more: where the next step begins. */
  readonly next?: number
}

/**
 * A place where something of a person may be. A step is bounded, and done again it finds nothing of what it did. Throws
 * where it cannot be done now: it is tried again.
 */
export interface ErasurePlace {
  readonly name: string
  readonly erase: (person: ErasedPerson, after: number) => Promise<ErasedStep>
}

/** How far an erasure came: passes over all places, until a whole one finds nothing. */
export interface ErasureProgress {
  /** Counts from 1. */
  readonly pass: number
  /** The place that is next in this pass, and where in it. */
  readonly place: number
  readonly after: number
  /** In this pass. */
  readonly found: number
  /** How many passes in a row had something that could not be done. */
  readonly tries: number
  /** By place, over all passes. */
  readonly erased: Readonly<Record<string, number>>
  /** What could not be done when the place was last tried; without the name of the person. */
  readonly problems: Readonly<Record<string, string>>
}

/** An erasure, under way or done. */
export interface Erasure {
  /** The pseudonym. */
  readonly id: string
  /** Whose; of one that is done the pseudonym. */
  readonly principal: string
  readonly state: 'running' | 'done'
  /** Who asked for it: an operator, or `self`. */
  readonly askedBy: string
  readonly askedAtMs: number
  /** When it goes on; absent once it is done. */
  readonly nextMs?: number
  readonly progress: ErasureProgress
}

/** The table of erasures. Every verb may throw `request_unavailable`. */
export interface ErasureStore {
  /** Writes it, and ends every key and sign-in of the person, in one go. Answers the one that runs, if there is one. */
  readonly begin: (erasure: Erasure, by: Administrator) => Promise<Erasure>
  readonly find: (id: string) => Promise<Erasure | undefined>
  /** The newest first. */
  readonly list: (limit: number) => Promise<readonly Erasure[]>
  /** Those that run, the next one first. */
  readonly running: (limit: number) => Promise<readonly Erasure[]>
  readonly save: (erasure: Erasure) => Promise<void>
  /** It is done: the name goes from here, too. */
  readonly finish: (erasure: Erasure, nowMs: number) => Promise<void>
}

/** Erasing persons. Throws `request_invalid`, `request_not_found` and `request_unavailable`. */
export interface ErasureAdministration {
  /** Begins it, or answers the one that runs. `isSelf`: the person asked. */
  readonly begin: (principal: string, by: Administrator, isSelf: boolean) => Promise<Erasure>
  readonly find: (id: string) => Promise<Erasure>
  readonly list: (limit: number) => Promise<readonly Erasure[]>
}
