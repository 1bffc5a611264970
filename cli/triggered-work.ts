// The verbs and lines that schedules and subscriptions share: both begin work, are paused, go on, and are removed.
import type { Reply } from '../src/client/client.ts'
import { on } from './command.ts'
import { rehearsal, text } from './options.ts'
import { dollars, short, time } from './text.ts'

export type Schedule = Reply<'GET /api/schedules/:id'>
export type Subscription = Reply<'GET /api/subscriptions/:id'>
type Either = Schedule | Subscription

export const headOf = ({ id, name, state }: Either) => `${id}  ${name}  ${state}`
export const pausedText = ({ paused }: Either) =>
  paused && `  paused ${time(paused.atMs)} by ${paused.by}: ${paused.reason}`
export const todayText = ({ today, daily }: Either, what: string) =>
  `  today ${today.runs} of ${daily.runs} ${what}, ${today.tokens} tokens, ${dollars(today.costUsd)}`
export const ownerOf = ({ owner }: Either) => owner.replace(/^principal:/, '')

/** Why it ended so, or what it said. */
export const outcomeOf = (end: {
  readonly reason?: string | undefined
  readonly text?: string | undefined
}) => short(end.reason ?? end.text ?? '', 80)

/** The verbs that schedules and subscriptions share. */
export const triggeredVerbs = <Of extends Either>(
  path: '/api/schedules' | '/api/subscriptions',
  verbs: {
    readonly usage: string
    readonly says: (one: Of) => string
    readonly meanwhile: string
    readonly again: string
  },
) => {
  const one = `${path}/:id` as '/api/schedules/:id'
  const { usage, meanwhile, again } = verbs
  const says = verbs.says as (one: Either) => string
  return {
    pause: on(`POST ${one}/pause`, {
      usage,
      about: meanwhile,
      options: { reason: text('text', 'shown with it') },
      sends: {},
      says,
    }),
    resume: on(`POST ${one}/resume`, { usage, about: again, sends: {}, says }),
    remove: on(`DELETE ${one}`, {
      usage,
      about: 'Takes it away with its history. What has begun goes on.',
      options: rehearsal,
      asks: (id) => `Remove ${id} and its history?`,
      says: (_gone, { args: [id] }) => `${id} is removed.`,
      would: (found: Either) => `Would be removed:\n${says(found)}`,
      reads: `GET ${one}`,
    }),
  }
}
