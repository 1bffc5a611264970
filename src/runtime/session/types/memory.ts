/** A note of the scratchpad. */
export interface MemoryEntry {
  readonly id: string
  readonly text: string
  readonly atMs: number
}
