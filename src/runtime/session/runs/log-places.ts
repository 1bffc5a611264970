/** The places that a session gives to its events. */
export interface LogPlaces {
  readonly next: () => number
  /** The last that was given; `undefined` if none was since the log was read. */
  readonly last: () => number | undefined
  /** What was given after this one is free again: it was not written. */
  readonly back: (place: number | undefined) => void
}

/** @param lastSeq Read when first needed: a disk that fails must not make the object impossible to load. */
export function createLogPlaces(lastSeq: () => number): LogPlaces {
  let seq: number | undefined
  return {
    next: () => (seq = (seq ?? lastSeq()) + 1),
    last: () => seq,
    back: (place) => void (seq = place),
  }
}
