import type { EventData, ToldData, EventDraft } from '#contracts/event.ts'

/** The call that an event is of, if it is of one. */
export const callOf = ({ data }: { readonly data: EventData | ToldData }): string | undefined =>
  'call' in data ? data.call : undefined

/** An event as one of a call, unless it says already of which one. */
export const ofCall = <Event extends EventDraft>(call: string, event: Event): Event => ({
  ...event,
  data: { call, ...event.data },
})
