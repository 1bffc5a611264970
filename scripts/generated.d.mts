/** Files that are made of other files. */
export interface Generated {
  readonly isCurrent: () => boolean
  /** Leaves an unchanged file its time. */
  readonly update: () => void
}

export declare function createGenerated(options: {
  readonly name: string
  /** What makes them, from the root. */
  readonly scripts: readonly string[]
  readonly make: () => {
    readonly files: ReadonlyMap<string, string>
    readonly sources: readonly string[]
  }
  /** Where the hashes are kept. */
  readonly folder?: string
}): Generated
