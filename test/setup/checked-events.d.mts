import type { Plugin } from 'vitest/config'

/** A function of `src/` by which all events of a sort come, and how it is put behind a check. */
export interface CheckedPlace {
  readonly file: string
  readonly find: string
  readonly name: string
  readonly check: string
  readonly wrap: string
  readonly path?: string
}

export declare const places: readonly CheckedPlace[]
export declare const deploymentPlace: CheckedPlace
export declare function withCheck(text: string, place: CheckedPlace): string
export declare function checkedEvents(checked?: readonly CheckedPlace[]): Plugin
