export interface Job {
  readonly id: string
  readonly fn: string
  readonly time: number
}

/**
 * The object's durable timers: the part of `agents/lifecycle`'s jobs that is used here. It sets the one alarm of the
 * object by them: to the earliest, or at once if that is past.
 */
export interface Jobs {
  readonly get: (id: string) => { readonly time: number } | undefined
  readonly list: () => readonly { readonly id: string; readonly time: number }[]
  readonly push: (job: Job) => Promise<unknown>
  readonly cancel: (id: string) => Promise<unknown>
}

/** The alarm itself, without a row: `undefined` for none. Holds until a job is pushed or cancelled. */
export type SetAlarm = (time: number | undefined) => Promise<void>
