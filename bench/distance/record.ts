/** Where a call was made or arrived: the front Worker, or the isolate of a class of objects. */
export type Place = string

/** One call of a binding, as the isolate saw it that made the call. Times are epoch milliseconds. */
export interface CallRecord {
  readonly place: Place
  /** `Class.method`, `D1 select keys`, `KV.get`, `model`, or the name of a rate limit. */
  readonly name: string
  /**
   * The class of objects that was called; its isolate is the place where the call arrived. Missing for other
   * bindings.
   */
  readonly to?: Place
  /** Milliseconds of the round trip. */
  readonly distanceMs: number
  readonly startMs: number
  /** Position of the start among all starts and ends of this place. */
  readonly startOrder: number
  /** When the call arrived, half a round trip later. Missing while it is on its way. */
  thereMs?: number
  /** When the answer left. Missing while there is none. */
  backMs?: number
  /** When the answer, or the error, was with the caller. */
  endMs?: number
  endOrder?: number
  failed?: boolean
}

/** Milliseconds of a round trip, by binding. A binding without a name here is as far as `far`. */
export interface Distances {
  readonly far: number
  readonly [binding: string]: number
}

/** A session's object is where its first caller is, KV in every place; one D1 and one object of a kind is elsewhere. */
export const distancesAt = (far: number): Distances => ({
  far,
  SESSION: Math.min(5, far),
  KV: Math.min(10, far),
  OAUTH_KV: Math.min(10, far),
  STRANGER_LIMIT: 0,
  REQUEST_LIMIT: 0,
  SESSION_LIMIT: 0,
  MODEL: 0,
})
