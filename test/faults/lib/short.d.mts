export interface ShortReport {
  readonly faults: number
  readonly lost: number
  readonly doubled: number
  readonly stuck: number
  readonly lastLine: string
  readonly violations: readonly string[]
  /** One line for each await that no scenario reaches and that is not exempt. */
  readonly uncovered: readonly string[]
  readonly lossesWithoutSync: number
  readonly processes: number
  readonly points: number
}

/** Injects about `faults` faults, those while recording included. */
export function runShort(options: {
  readonly seed: number
  readonly faults: number
}): Promise<ShortReport>
