/** The object's durable timers: the part of `agents/lifecycle`'s jobs that is used here. */
export interface Jobs {
  readonly get: (id: string) => { readonly time: number } | undefined
  readonly push: (job: { id: string; fn: string; time: number }) => Promise<unknown>
  readonly cancel: (id: string) => Promise<unknown>
}
