import { defined } from '#contracts/defined.ts'
import type { Emitted } from '#runtime/session/types/audit-sink.ts'
import { maxTtlMs } from '#contracts/event-bus.ts'
import type { Schedule, Slot } from '#runtime/session/types/schedule.ts'
import { follow, heardLabel, isMatch, isWanted, visibilityOf, countStop } from './chain.ts'
import type { FiringDeps } from './firing.ts'
import { freeMoment, type VerbParts, type Verbs } from './verbs.ts'
import { keepSlots } from './keeper.ts'
import { leaveOfDay, maxQueued } from './settle.ts'
import { nothingSpent, stoppedEvents } from './told.ts'

/** The share of a subscription's limits that one principal's events may use, other than its owner's. */
const sharers = 4

/** Longer than any event may still begin a run: an event that is delivered again after that begins none. */
const keepHeardMs = maxTtlMs + 86_400_000

/**
 * An emitted event becomes a firing of each subscription here that wants it and may see it now. The event's id is
 * stored with the firing, in one transaction: a repeated delivery changes nothing.
 */
export function createHear({
  rows,
  keeper,
  storage,
  nowMs,
  wake,
  mayBegin,
}: VerbParts & Pick<FiringDeps, 'mayBegin'>): Verbs['hear'] {
  const maySee = async (one: Schedule, event: Emitted): Promise<boolean> => {
    const { asker, spec } = one
    const visibility = isWanted(spec.when) ? visibilityOf(one, spec.when, event) : 'no'
    if (visibility !== 'role') return visibility === 'yes'
    return mayBegin({ ...asker, agent: spec.work.agent, seesEverybody: true })
  }
  /** Refuses an event of a principal that has used its share of the limits. */
  const whyShared = (
    { id, asker, spec: { daily } }: Schedule,
    { principal }: Emitted,
  ): string | undefined => {
    if (principal === asker.principal) return undefined
    const had = rows.begunFor(id, principal, nowMs() - 86_400_000)
    const [most, mostOpen] = [daily.runs, maxQueued].map((all) => Math.ceil(all / sharers))
    if (had.all < most! && had.open < mostOpen!) return undefined
    return `one principal has had its share: ${most} runs within a day, ${mostOpen} that wait`
  }
  const hear = (id: string, event: Emitted): boolean => {
    // Asked for again: while it was looked up who may see it, it may have been paused or taken away.
    const one = rows.schedule(id)
    if (!one || one.paused || !isWanted(one.spec.when)) return false
    if (!rows.hear(id, event.id, nowMs())) return false
    const next = follow({ id, when: one.spec.when }, event, nowMs())
    const label = heardLabel(event, one.asker.principal)
    const leave = leaveOfDay(one, nowMs())
    const why =
      'why' in next
        ? next.why
        : 'why' in leave
          ? leave.why
          : rows.open(id).length >= maxQueued
            ? `${maxQueued} events wait already`
            : whyShared(one, event)
    if (why !== undefined && countStop(rows, { id, reason: why, nowMs: nowMs() })) return true
    const chain = 'chain' in next ? next.chain : event.chain
    const cause = chain && { ...event, label, chain }
    const slot: Slot = {
      schedule: id,
      slotMs: freeMoment(rows, id, nowMs()),
      state: why === undefined ? 'queued' : 'skipped',
      ...nothingSpent,
      ...defined({ cause }),
      ...(why !== undefined && { reason: why, endedAtMs: nowMs() }),
    }
    keeper.enqueue(slot)
    rows.prune(id, { most: keepSlots.most, sinceMs: nowMs() - keepSlots.ms })
    if (why !== undefined) rows.put(one, stoppedEvents(one, slot, event, nowMs()))
    return true
  }
  return async ({ event }) => {
    const wanting = rows
      .schedules()
      .filter(({ spec: { when }, paused }) => !paused && isWanted(when) && isMatch(when, event))
    if (wanting.length === 0) return { heard: 0 }
    const seen = await Promise.all(wanting.map((one) => maySee(one, event)))
    const heard = storage.transactionSync(() => {
      rows.forgetHeard(nowMs() - keepHeardMs)
      return wanting.filter(({ id }, index) => seen[index] && hear(id, event)).length
    })
    wake()
    return { heard }
  }
}
