/** What a run of a test file came to. */
export interface TestRun {
  /** The first test that was red. */
  readonly red?: string | undefined
  /** Whether that one was late, and nothing else. */
  readonly isLate: boolean
  readonly passed: number
  /** Whether the protection was really off. */
  readonly isOff: boolean
  /** Why the file did not load. */
  readonly problem?: string | undefined
  readonly said: string
}

export declare function isOnlyLate(result: {
  readonly failureMessages?: readonly string[]
}): boolean
export declare function judge(runs: {
  readonly before?: TestRun | undefined
  readonly without: () => Promise<TestRun>
  readonly baseline: () => Promise<TestRun>
}): Promise<{ readonly isCaught: boolean; readonly text: string }>
