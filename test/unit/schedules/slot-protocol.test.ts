import { describe, expect, it } from 'vitest'
import { settleDue } from '../../../src/features/schedules/settle.ts'
import { minuteMs, scheduleOf } from '../../fakes/schedules.ts'

/**
 * A small model of how a slot is fired: two who ring (the alarm, and the watchdog, which need not meet in one look as they
 * do), an object that may end at any moment, and sessions that join what has the same key. Every interleaving up to a depth
 * is looked at. Slots are settled by the code itself.
 */
interface World {
  readonly now: number
  readonly next: number
  /** By slot, in minutes. */
  readonly rows: Readonly<Record<number, 'queued' | 'running' | 'done'>>
  /** Keys under which sessions have begun a run, by slot. */
  readonly runs: Readonly<Record<number, readonly string[]>>
  readonly ringers: readonly (Flight | null)[]
  readonly crashes: number
  readonly attempts: number
}
interface Flight {
  readonly slot: number
  readonly key: string
  readonly isSent: boolean
}

/** What the protocol would be without one of its parts. */
interface Variant {
  /** The next slot is found from now. */
  readonly isFromNow?: true
  /** Each attempt has a key of its own. */
  readonly hasFreshKeys?: true
  /** A list request looks for the next slot, and stores it. */
  readonly listingMoves?: true
}

const lastSlot = 3
const when = { everyMs: minuteMs, anchorMs: minuteMs }
const begin: World = {
  now: 0,
  next: 1,
  rows: {},
  runs: {},
  ringers: [null, null],
  crashes: 0,
  attempts: 0,
}

const withRinger = (world: World, index: number, flight: Flight | null): World => ({
  ...world,
  ringers: world.ringers.map((one, at) => (at === index ? flight : one)),
})

/** What rings settles all that is due in one go, and takes up the oldest that has no run. */
function ring(world: World, index: number, variant: Variant): World {
  const schedule = scheduleOf(
    { when, catchUp: 'all', overlap: 'queue' },
    { nextMs: world.next * minuteMs },
  )
  const due = settleDue(schedule, world.now * minuteMs, { open: 0 }, () => 0)
  const slots = due.verdicts.map(({ slotMs }) => slotMs / minuteMs)
  const settled = variant.isFromNow ? slots.slice(0, 1) : slots
  const next = variant.isFromNow
    ? Math.max(world.next, settled.length > 0 ? world.now + 1 : 0)
    : (due.nextMs ?? 0) / minuteMs
  const rows: World['rows'] = {
    ...Object.fromEntries(settled.map((slot) => [slot, 'queued' as const])),
    ...world.rows,
  }
  const slot = Object.keys(rows)
    .map(Number)
    .find((one) => rows[one] === 'queued')
  const kept = { ...world, rows, next }
  if (slot === undefined) return kept
  const key = variant.hasFreshKeys ? `${slot}:${world.attempts}` : `${slot}`
  return withRinger({ ...kept, attempts: world.attempts + 1 }, index, { slot, key, isSent: false })
}

function steps(world: World, variant: Variant): readonly World[] {
  const found: World[] = []
  if (world.now < lastSlot) found.push({ ...world, now: world.now + 1 })
  if (variant.listingMoves && world.next <= world.now) found.push({ ...world, next: world.now + 1 })
  world.ringers.forEach((flight, index) => {
    if (flight === null) return void found.push(ring(world, index, variant))
    const { slot, key, isSent } = flight
    if (!isSent) {
      const keys = [...new Set([...(world.runs[slot] ?? []), key])]
      const sent = { ...world, runs: { ...world.runs, [slot]: keys } }
      return void found.push(withRinger(sent, index, { ...flight, isSent: true }))
    }
    const isOpen = (world.rows[slot] ?? 'queued') === 'queued'
    const rows = isOpen ? { ...world.rows, [slot]: 'running' as const } : world.rows
    found.push(withRinger({ ...world, rows }, index, null))
  })
  for (const [slot, state] of Object.entries(world.rows))
    if (state === 'running') found.push({ ...world, rows: { ...world.rows, [slot]: 'done' } })
  // The object ends: work under way is gone, written rows stay.
  if (world.crashes < 2 && world.ringers.some((one) => one !== null))
    found.push({ ...world, ringers: [null, null], crashes: world.crashes + 1 })
  return found
}

/** Undisturbed, one alarm is enough for all slots to be done. */
function settleDown(world: World, variant: Variant): World {
  let at: World = { ...world, now: lastSlot, ringers: [null, null] }
  for (let step = 0; step < 40; step += 1) {
    const [flight] = at.ringers
    if (!flight) at = ring(at, 0, variant)
    else {
      const next = steps(at, variant).filter(
        (one) => one.ringers[0] !== flight && one.crashes === at.crashes,
      )
      at = next.find((one) => one.now === at.now) ?? at
    }
    at = {
      ...at,
      rows: Object.fromEntries(
        Object.entries(at.rows).map(([slot, state]) => [
          slot,
          state === 'running' ? 'done' : state,
        ]),
      ),
    }
  }
  return at
}

/** Looks at every world within reach. @returns How many there are, and what is wrong in the first in which anything is. */
function search(variant: Variant, depth: number) {
  const seen = new Set<string>()
  let open: readonly World[] = [begin]
  for (let level = 0; level <= depth; level += 1) {
    const following: World[] = []
    for (const world of open) {
      const text = JSON.stringify(world)
      if (seen.has(text)) continue
      seen.add(text)
      const doubled = Object.entries(world.runs).find(([, keys]) => keys.length > 1)
      if (doubled) return { worlds: seen.size, wrong: `slot ${doubled[0]} twice` }
      const end = settleDown(world, variant)
      const lost = [1, 2, 3].find(
        (slot) => end.rows[slot] !== 'done' || end.runs[slot]?.length !== 1,
      )
      if (lost !== undefined) return { worlds: seen.size, wrong: `slot ${lost} lost or doubled` }
      following.push(...steps(world, variant))
    }
    open = following
  }
  return { worlds: seen.size, wrong: undefined }
}

describe('the protocol of a slot, all interleavings of two who ring, crashes and reports', () => {
  it('loses no slot and begins none twice', () => {
    const { worlds, wrong } = search({}, 18)
    expect(wrong).toBeUndefined()
    expect(worlds).toBeGreaterThan(2_000)
  })

  it.each([
    ['whose next slot is found from now', { isFromNow: true }],
    ['whose attempts have keys of their own', { hasFreshKeys: true }],
    ['whose list moves the next slot', { listingMoves: true }],
  ] as const)('catches a protocol %s', (_what, variant) => {
    expect(search(variant, 18).wrong).toBeDefined()
  })
})
