// Schedules and their slots, in words: for isola schedule.
import type { Reply } from '../../src/client/client.ts'
import { dollars, short, time } from './text.ts'

type Schedule = Reply<'GET /api/schedules/:id'>
type Slot = Reply<'GET /api/schedules/:id/history'>['slots'][number]

const shownSlots = 5
const minute = 60_000

/** When it is due, as somebody would write it. */
export function whenOf({ when }: Schedule): string {
  if ('cron' in when) return `${when.cron} ${when.timeZone}`
  if ('everyMs' in when) return `every ${when.everyMs / minute} min`
  return `${when.atMs.length} ${when.atMs.length === 1 ? 'moment' : 'moments'}`
}

const workOf = ({ work: { task, tool } }: Schedule) => task ?? `${tool} without a model`
export const slotsOf = ({ next }: Schedule) =>
  next.slice(0, shownSlots).map((slot) => `  ${time(slot)}`)

const toldTo = ({ deliver: { to, session, url } }: Schedule) => [to, session, url].filter(Boolean)

const checkOf = ({ tool, has }: NonNullable<Schedule['check']>) =>
  has === undefined ? `${tool} says so` : `${tool} answers any ${has}`

/** All of one. */
export const described = (schedule: Schedule) =>
  [
    `${schedule.id}  ${schedule.name}  ${schedule.state}`,
    `  ${short(workOf(schedule), 200)}`,
    `  ${whenOf(schedule)}; catch-up ${schedule.catchUp}, overlap ${schedule.overlap}; tells ${toldTo(schedule).join(' ')}`,
    ...(schedule.check ? [`  only if ${checkOf(schedule.check)}`] : []),
    ...(schedule.heartbeat ? ['  a heartbeat: in one session of its own'] : []),
    ...(schedule.paused
      ? [
          `  paused ${time(schedule.paused.atMs)} by ${schedule.paused.by}: ${schedule.paused.reason}`,
        ]
      : []),
    `  today ${schedule.today.runs} of ${schedule.daily.runs} firings, ${schedule.today.tokens} tokens, ${dollars(schedule.today.costUsd)}`,
    ...(schedule.next.length > 0 ? ['next slots:', ...slotsOf(schedule)] : []),
  ].join('\n')

const told = ({ to, state, error }: NonNullable<Slot['delivery']>) =>
  `${to}: ${state}${error === undefined || state === 'delivered' ? '' : `, ${short(error, 60)}`}`
export const rowOf = ({ slotMs, state, isManual, delivery, tokens, reason, text }: Slot) => [
  time(slotMs),
  isManual ? `${state} (asked for)` : state,
  delivery ? told(delivery) : '',
  String(tokens),
  short(reason ?? text ?? '', 80),
]
