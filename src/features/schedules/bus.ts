import { allOf } from './chain.ts'
import { type Emitted, type EventBus } from '#runtime/session/types/event-bus.ts'
import { labelFrom } from '#contracts/label.ts'
import {
  ofEverybody,
  type ScheduleGateway,
  type ScheduleIndex,
} from '#runtime/session/types/schedule-object.ts'
import type { Untold } from './rows.ts'

/** Publishes skipped slots as events of the schedule's owner, before the list marks them as published. */
export const createMissedEvents =
  (bus: EventBus, sha256: (text: string) => string) =>
  async (untold: readonly Untold[]): Promise<void> => {
    const events = untold.flatMap((one) => missedOf(one, sha256))
    const owners = events.length > 0 ? await bus.ownersOf(events) : new Map()
    for (const event of events)
      for (const owner of owners.get(event.id) ?? []) await bus.tell(owner, event)
  }

const missedOf = (
  { schedule, events }: Untold,
  sha256: (text: string) => string,
): readonly Emitted[] =>
  events.flatMap(({ type, data, atMs, version }) => {
    if (!schedule || type !== 'schedule_missed') return []
    const id = `${schedule.id}:${version}:${data.fromMs}`
    const name = 'isola.schedule_missed'
    const { count, fromMs, toMs, reason } = data
    return [
      {
        id,
        name,
        atMs,
        principal: schedule.asker.principal,
        // It is of no session.
        session: '',
        run: '',
        agent: schedule.spec.work.agent,
        trace: sha256(id).slice(0, 32),
        payload: { schedule: schedule.id, name: schedule.spec.name, count, fromMs, toMs, reason },
        label: labelFrom(name, { integrity: 'data' }),
      },
    ]
  })

/** Events go to the objects that keep subscriptions, found in the list of all schedules. */
export const createEventBus = ({
  gateway,
  index,
}: {
  readonly gateway: ScheduleGateway
  readonly index: Pick<ScheduleIndex, 'wanting'>
}): EventBus => ({
  async ownersOf(events, counted) {
    const kept = await index.wanting(events, counted)
    const owners = (name: string, principal: string, isPublic: boolean) =>
      kept
        .filter(
          ({ event, hears }) =>
            (event === name || event === allOf(name)) &&
            (isPublic || hears === principal || hears === ofEverybody),
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
