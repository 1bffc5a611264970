/** A protection and how a test run does without it. */
export interface Switch {
  readonly name: string
  /** What it protects, in one line. */
  readonly what: string
  readonly file: string
  /** Found exactly once in the file. */
  readonly find: string
  readonly replace: string
  readonly project: 'unit' | 'workers'
  /** Test files of which at least one test turns red. */
  readonly tests: readonly string[]
  /** A pattern of test names, so that only they are run. */
  readonly filter?: string
  /** Why no test on one machine can see it missing. */
  readonly unseen?: string
}

export const switches: readonly Switch[]
