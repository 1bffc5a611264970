import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { lengthPrefixed, principalParts } from '#contracts/objects.ts'
import { pluginServiceParts } from '#features/plugins/types/plugin-service.ts'
import { fromReply } from '#contracts/reply.ts'
import {
  type ScheduleApi,
  type ScheduleGateway,
  type ScheduleRequest,
  type ScheduleVerb,
  type ScheduleVerbs,
  ofEverybody,
  type ScheduleIndex,
} from '#runtime/session/types/schedule-object.ts'
import type { ScheduleKeeper } from '#contracts/schedule-requests.ts'
import { allOf } from './chain.ts'
import type { Emitted } from '#runtime/session/types/audit-sink.ts'
import type { EventBus } from '#runtime/session/types/audit-sink.ts'
import { labelFrom } from '#contracts/label.ts'
import type { Untold } from './rows.ts'
import { keeperOf } from '#runtime/session/types/schedule.ts'
import type { Schedule } from '#runtime/session/types/schedule.ts'
import type { Clock } from '#contracts/sources.ts'

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

interface WatchdogDeps {
  readonly index: Pick<ScheduleIndex, 'late'>
  readonly gateway: ScheduleGateway
  readonly clock: Pick<Clock, 'nowMs'>
  readonly onFault: (error: unknown) => void
}

/** An owner that has said nothing for so long after a slot was due is asked. */
const lateMs = 2 * 60_000
const maxPoked = 50

/** So often, at most, requests have an isolate look. */
const glanceMs = 60_000

/**
 * Looks whether an owner's alarm was lost: one indexed query, which finds nothing as long as no alarm was lost. Late
 * schedules are asked to look themselves, so that a slot has one writer. Never throws.
 */
export function createWatchdog({ index, gateway, clock, onFault }: WatchdogDeps) {
  return async (): Promise<void> => {
    try {
      const late = await index.late(clock.nowMs() - lateMs, maxPoked)
      const byOwner = Map.groupBy(late, keeperOf)
      const poke = ([keeper, schedules]: readonly [ScheduleKeeper, readonly Schedule[]]) =>
        gateway.ask(keeper, 'poke', { schedules }).catch(onFault)
      await Promise.all([...byOwner].map(poke))
    } catch (error) {
      onFault(error)
    }
  }
}

/**
 * The same look during a request, once a minute of an isolate at most: requests are a clock too where the trigger has
 * stopped. `undefined` where it is not time, at the cost of a comparison.
 */
export function createGlance(watch: () => Promise<void>, clock: WatchdogDeps['clock']) {
  let lastMs = -Infinity
  return (): Promise<void> | undefined => {
    const nowMs = clock.nowMs()
    if (Math.abs(nowMs - lastMs) < glanceMs) return undefined
    lastMs = nowMs
    return watch()
  }
}

/** The part of a Durable Object namespace that this module needs. */
interface Namespace {
  readonly getByName: (name: string) => unknown
}

export interface GatewayDeps {
  /** By the tag of an owner. */
  readonly namespaces: { readonly principal: Namespace; readonly plugin: Namespace }
  readonly sha256: (text: string) => string
}

/** Calls the object that keeps a schedule. An object that does not answer is `request_unavailable`. */
export function createScheduleGateway({ namespaces, sha256 }: GatewayDeps): ScheduleGateway {
  const at = (keeper: ScheduleKeeper): ScheduleApi => {
    const name = keeper.slice(keeper.indexOf(':') + 1)
    const isPlugin = keeper.startsWith('plugin:')
    const parts = isPlugin ? pluginServiceParts(name) : principalParts(name)
    const namespace = isPlugin ? namespaces.plugin : namespaces.principal
    return namespace.getByName(sha256(lengthPrefixed(parts))) as ScheduleApi
  }
  return {
    async ask<Verb extends ScheduleVerb>(
      keeper: ScheduleKeeper,
      verb: Verb,
      ask: ScheduleVerbs[Verb]['ask'],
    ) {
      const request = { verb, ask } as ScheduleRequest // a pair of the table, as the arguments say
      const reply = await at(keeper)
        .schedules(request)
        .catch((cause: unknown) => {
          if (errorCode(cause) !== undefined) throw cause
          const message = 'The schedules cannot be reached at the moment. Try again.'
          const detail = errorMessage(cause)
          throw new IsolaError('request_unavailable', message, {
            transient: true,
            retryAfterMs: 5_000,
            detail,
            cause,
          })
        })
      return fromReply(reply) as ScheduleVerbs[Verb]['answer']
    },
  }
}
