import { IsolaError } from '#contracts/errors.ts'

export interface AcceptanceOptions {
  /** The run was accepted in an earlier life of this object. */
  readonly isStored: boolean
  /** Writes its first row; throws if it cannot be written. */
  readonly write: () => void
  readonly onStored: () => void
  readonly onDeclined: (error: unknown) => void
}

/** Whether a run was taken in: once its row is written, and only then. One that cannot be written leaves nothing. */
export interface Acceptance {
  /** Resolves once the run is accepted; rejects if it was declined. */
  readonly accepted: Promise<void>
  readonly state: () => 'new' | 'stored' | 'declined'
  /** Makes a new run an accepted one; nothing happens to one that is. */
  readonly persist: () => void
  readonly decline: (error: unknown) => void
}

export function createAcceptance(options: AcceptanceOptions): Acceptance {
  let state: 'new' | 'stored' | 'declined' = options.isStored ? 'stored' : 'new'
  const { promise: accepted, resolve, reject } = Promise.withResolvers<void>()
  accepted.catch(() => {}) // whoever waits for it sees the refusal
  if (options.isStored) resolve()

  const decline = (error: unknown) => {
    state = 'declined'
    options.onDeclined(error)
    reject(error)
  }
  return {
    accepted,
    decline,
    state: () => state,
    persist() {
      if (state === 'stored') return
      if (state === 'declined') {
        throw new IsolaError('request_unavailable', 'The run could not be stored. Try again.')
      }
      try {
        options.write()
      } catch (error) {
        decline(error)
        throw error
      }
      state = 'stored'
      options.onStored()
      resolve()
    },
  }
}
