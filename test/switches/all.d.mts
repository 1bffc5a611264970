/** A protection and how a test run does without it. */
export interface Switch {
  readonly name: string
  /** What it protects, in one line. */
  readonly what: string
  readonly file: string
  /** Found exactly once in the file. */
  readonly find: string
  readonly replace: string
  /** The test file of which at least one test turns red. */
  readonly test: string
  readonly project: 'unit' | 'workers'
  /** A pattern of test names, so that only they are run. */
  readonly only?: string
}

export const switches: readonly Switch[]
