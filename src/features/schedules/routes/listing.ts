import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import type { Schedule, ScheduleView, Slot } from '#runtime/session/types/schedule.ts'
import type { ScheduleListing, SlotListing } from './replies.ts'

const usdOf = (nanoUsd: number): number => nanoUsd / 1e9
const maxTextChars = 1_000

/** A schedule as the API shows it. */
export function toListing(
  view: Schedule & Partial<Pick<ScheduleView, 'next'>>,
  nowMs: number,
): ScheduleListing {
  const { id, owner, asker, spec, createdAtMs, nextMs, paused, failures, day } = view
  const { daily, when, limits, ...rest } = spec
  const { costNanoUsd, ...caps } = daily
  const isToday = day.day === new Date(nowMs).toISOString().slice(0, 10)
  const next = view.next ?? (nextMs === undefined ? [] : [nextMs])
  return {
    id,
    owner,
    principal: asker.principal,
    state: paused ? 'paused' : nextMs === undefined ? 'over' : 'active',
    ...defined({ paused }),
    when: 'atMs' in when ? { atMs: [...when.atMs] } : 'event' in when ? { atMs: [] } : when,
    ...rest,
    ...(limits && { limits: { ...limits } }),
    daily: { ...caps, ...(costNanoUsd !== undefined && { costUsd: usdOf(costNanoUsd) }) },
    createdAtMs,
    failures,
    today: isToday
      ? { runs: day.runs, tokens: day.tokens, costUsd: usdOf(day.costNanoUsd) }
      : { runs: 0, tokens: 0, costUsd: 0 },
    next: paused ? [] : [...next],
  }
}

/** A slot as the API shows it. */
export function toSlotListing(slot: Slot): SlotListing {
  const { slotMs, state, reason, asked, beganAtMs, endedAtMs, session, run, text } = slot
  const { tokens, costNanoUsd, delivery } = slot
  return {
    slotMs,
    state,
    ...defined({ reason }),
    ...(asked && { isManual: true }),
    ...defined({ beganAtMs, endedAtMs, session, run }),
    ...(text !== undefined && { text: headOf(text, maxTextChars) }),
    tokens,
    costUsd: usdOf(costNanoUsd),
    ...defined({ delivery }),
  }
}
