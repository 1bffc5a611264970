import type { EventData, ToldData, EventDraft } from '#contracts/event.ts'

/** The call that an event is of, if it is of one. */
export const callOf = ({ data }: { readonly data: EventData | ToldData }): string | undefined =>
  'call' in data ? data.call : undefined

/** An event with the id of its call, unless it has one already. */
export const ofCall = <Event extends EventDraft>(call: string, event: Event): Event => ({
  ...event,
  data: { call, ...event.data },
})
