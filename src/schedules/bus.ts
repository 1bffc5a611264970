import { allOf, type EventBus } from '#contracts/event-bus.ts'
import type { ScheduleGateway, ScheduleIndex } from '#contracts/schedule-object.ts'

/** Events go to the objects that keep subscriptions, found in the list of all schedules. */
export const createEventBus = ({
  gateway,
  index,
}: {
  readonly gateway: Pick<ScheduleGateway, 'ask'>
  readonly index: Pick<ScheduleIndex, 'wanting'>
}): EventBus => ({
  async ownersOf(events) {
    const kept = await index.wanting(events)
    const owners = (name: string, principal: string, isPublic: boolean) =>
      kept
        .filter(
          ({ event, hears }) =>
            (event === name || event === allOf(name)) &&
            (isPublic || hears === principal || hears === everybody),
        )
        .map(({ owner }) => owner)
    return new Map(
      events.flatMap(({ id, name, principal, isPublic }) => {
        const found = [...new Set(owners(name, principal, isPublic === true))]
        return found.length > 0 ? [[id, found] as const] : []
      }),
    )
  },
  async tell(owner, event) {
    await gateway.ask(owner, 'hear', { event })
  },
})

/** Stands in the list for whose events somebody hears. */
const everybody = '*'
