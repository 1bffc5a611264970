import { describe, expect, it } from 'vitest'
import type { Floor, FloorEnding } from '../../../../src/runtime/session/types/floor.ts'
import type { CallRecord } from '#runtime/kernel/types/journal.ts'
import { zeroUsage } from '#contracts/lease.ts'
import type { ToolResult } from '#contracts/tool.ts'
import { addresseeOf, leftOf } from '../../../../src/runtime/session/floor/message-router.ts'
import { ended, settleFloor } from '../../../../src/runtime/session/floor/settle.ts'

/**
 * A small model of who has a conversation: messages that come, an agent that may hand over, a holder that answers, gives
 * back or fails, a user and an operator who take it back, a clock, and an object that may end at any moment. Every
 * interleaving up to a depth is looked at. Who answers, what a lease has left and what a run's end makes of a floor is
 * decided by the code itself.
 */
interface World {
  readonly now: number
  readonly floor: Floor | null
  readonly queued: readonly number[]
  readonly live: Live | null
  /** Who worked on a message, and what it was told in the end. */
  readonly heard: Readonly<Record<number, readonly string[]>>
  readonly answers: Readonly<Record<number, readonly string[]>>
  readonly log: readonly string[]
  /** The actual spending under each handoff, and its number of messages. */
  readonly spent: Readonly<Record<string, readonly [number, number]>>
  readonly arrived: number
  readonly crashes: number
  readonly floors: number
  /** How often a run ended with a call that took the conversation. */
  readonly handed: number
  readonly reclaims: number
}

interface Live {
  readonly message: number
  /** As its row says: whose it is. */
  readonly passedOn?: string | undefined
  readonly noted?: string | undefined
  /** What the holder may spend. */
  readonly share: number
  readonly isHeard: boolean
  readonly isCancelled: boolean
}

/** What the protocol would be without one of its parts. */
interface Variant {
  /** Taking the conversation back leaves what is passed on at work. */
  readonly leavesWork?: true
  /** Whose a message is, is decided anew when its object comes back. */
  readonly hasNoPin?: true
  /** That its end was told is not kept. */
  readonly forgetsTold?: true
  /** A message may spend what the whole floor may. */
  readonly hasWholeLease?: true
}

const terms = {
  maxMessages: 3,
  maxTokens: 100,
  maxCostNanoUsd: Number.MAX_SAFE_INTEGER,
  timeoutMs: 2,
  monitor: 'rule',
  input: 'task',
} as const
const [messages, ticks, crashes, floors, reclaims, price] = [4, 3, 2, 2, 2, 60]
const begin: World = {
  now: 0,
  floor: null,
  queued: [],
  live: null,
  heard: {},
  answers: {},
  log: [],
  spent: {},
  arrived: 0,
  crashes: 0,
  floors: 0,
  handed: 0,
  reclaims: 0,
}

const added = (all: World['answers'], message: number, one: string): World['answers'] => ({
  ...all,
  [message]: [...(all[message] ?? []), one],
})

/** A message begins to be worked on, or goes on after a crash. */
function address(world: World, message: number, variant: Variant): World {
  const arriving = { messages: [], options: {}, isBeside: false, isThere: () => true }
  const found = addresseeOf(arriving, world.floor ?? undefined, world.now)
  const live = { message, share: 0, isHeard: false, isCancelled: false }
  if (found.to === 'holder') {
    const share = variant.hasWholeLease ? terms.maxTokens : leftOf(found.floor).maxTokens
    return { ...world, live: { ...live, passedOn: found.floor.id, share } }
  }
  const floor =
    world.floor && found.ends
      ? ended(world.floor, { reason: found.ends, atMs: world.now })
      : world.floor
  const noted = floor?.end && !floor.isNoted ? floor.id : undefined
  return { ...world, floor, live: { ...live, noted } }
}

/** The run of a message ends with what came of its call; nothing if its agent answered itself. */
function finish(world: World, live: Live, result: ToolResult | undefined, variant: Variant): World {
  const { message, passedOn, noted, share } = live
  const tokens = passedOn ? Math.min(price, share) : 0
  const call = { tool: 'desk__run', outcome: result } as CallRecord
  const settled = settleFloor(world.floor ?? undefined, {
    run: `floor ${world.floors}`,
    floor: passedOn,
    noted,
    mayHandOff: !passedOn,
    turn: { calls: result ? [call] : [], steps: [] },
    final: { state: live.isCancelled ? 'cancelled' : 'completed', usage: { ...zeroUsage, tokens } },
    nowMs: world.now,
  })
  const kept = settled?.floor ?? world.floor
  const { isTold, ...untold } = kept ?? ({} as Floor)
  const [before, count] = world.spent[passedOn ?? ''] ?? [0, 0]
  const isTaken = settled?.events.some(({ type }) => type === 'floor_taken') ?? false
  const who = live.isCancelled ? 'cancelled' : passedOn ? 'holder' : 'agent'
  return {
    ...world,
    floor: kept && variant.forgetsTold && isTold && !kept.isNoted ? (untold as Floor) : kept,
    live: null,
    answers: added(world.answers, message, `${who} ${passedOn ?? ''}`),
    heard: live.isHeard ? world.heard : added(world.heard, message, passedOn ? 'holder' : 'agent'),
    log: [
      ...world.log,
      ...(settled?.events ?? []).map(({ type, data }) => `${type} ${data.floor}`),
    ],
    spent: passedOn ? { ...world.spent, [passedOn]: [before + tokens, count + 1] } : world.spent,
    floors: world.floors + (isTaken ? 1 : 0),
    handed: world.handed + (result === takes && !live.isCancelled ? 1 : 0),
  }
}

function reclaim(world: World, reason: FloorEnding, variant: Variant): World {
  if (!world.floor || world.floor.end) return world
  const { live } = world
  const isMeant = live?.passedOn === world.floor.id && !variant.leavesWork
  return {
    ...world,
    floor: ended(world.floor, { reason, atMs: world.now }),
    live: live && isMeant ? { ...live, isCancelled: true } : live,
    reclaims: world.reclaims + 1,
  }
}

const says: ToolResult = { ok: true, output: 'words' }
const returns: ToolResult = { ...says, floor: { return: { summary: 's' } } }
const takes: ToolResult = { ...says, floor: { take: terms } }
const fails: ToolResult = { ok: false, error: { code: 'tool_failed', message: 'no' } }

function steps(world: World, variant: Variant): readonly World[] {
  const found: World[] = []
  const { live, floor } = world
  if (world.arrived < messages)
    found.push({
      ...world,
      arrived: world.arrived + 1,
      queued: [...world.queued, world.arrived + 1],
    })
  if (!live && world.queued.length > 0) {
    const [next = 0, ...queued] = world.queued
    found.push(address({ ...world, queued }, next, variant))
  }
  if (live?.isCancelled) found.push(finish(world, live, fails, variant))
  else if (live?.passedOn) {
    if (!live.isHeard)
      found.push({
        ...world,
        live: { ...live, isHeard: true },
        heard: added(world.heard, live.message, 'holder'),
      })
    else
      for (const result of [says, returns, fails]) found.push(finish(world, live, result, variant))
  } else if (live) {
    found.push(finish(world, live, undefined, variant))
    if (world.floors < floors && (!floor || floor.end))
      found.push(finish(world, live, takes, variant))
  }
  if (floor && !floor.end && world.reclaims < reclaims)
    for (const reason of ['user', 'operator'] as const) found.push(reclaim(world, reason, variant))
  if (world.now < ticks) found.push({ ...world, now: world.now + 1 })
  // The alarm.
  if (floor && !floor.end && world.now >= floor.untilMs && live?.passedOn !== floor.id)
    found.push({ ...world, floor: ended(floor, { reason: 'timeout', atMs: world.now }) })
  // The object ends: whose a message is stays as it was, and its call joins what was begun.
  if (live && world.crashes < crashes) {
    const back = { ...world, crashes: world.crashes + 1 }
    found.push(variant.hasNoPin ? address(back, live.message, variant) : back)
  }
  return found
}

/** Undisturbed, every message that arrived is answered. */
function settleDown(world: World, variant: Variant): World {
  let at: World = { ...world, crashes, reclaims, now: ticks + 10 }
  for (let step = 0; step < 30 && (at.live ?? at.queued.length > 0); step += 1) {
    if (!at.live) {
      const [next = 0, ...queued] = at.queued
      at = address({ ...at, queued }, next, variant)
    } else
      at = finish(
        at,
        at.live,
        at.live.isCancelled ? fails : at.live.passedOn ? says : undefined,
        variant,
      )
  }
  // One more message tells what is still to be told.
  const last = address({ ...at, arrived: at.arrived + 1 }, at.arrived + 1, variant)
  return last.live ? finish(last, last.live, last.live.passedOn ? says : undefined, variant) : last
}

function wrongIn(world: World, variant: Variant): string | undefined {
  for (const kind of ['floor_taken', 'floor_ended'])
    for (const line of world.log.filter((one) => one.startsWith(kind)))
      if (world.log.filter((one) => one === line).length > 1) return `${line} twice`
  if (world.log.filter((one) => one.startsWith('floor_taken')).length !== world.handed)
    return 'handed over to nobody'
  for (const [id, [tokens]] of Object.entries(world.spent))
    if (tokens > terms.maxTokens) return `the lease of ${id} passed`
  for (const [message, who] of Object.entries(world.heard))
    if (new Set(who).size > 1) return `message ${message} answered twice`
  const { live, floor } = world
  if (live?.passedOn && !live.isCancelled && floor?.id === live.passedOn && floor.end)
    return `message ${live.message} is with who has the conversation no more`
  const end = settleDown(world, variant)
  for (let message = 1; message <= end.arrived; message += 1)
    if (end.answers[message]?.length !== 1) return `message ${message} lost or answered twice`
  const [tokens, count] = end.spent[end.floor?.id ?? ''] ?? [0, 0]
  if (end.floor && (end.floor.tokens !== tokens || end.floor.messages !== count))
    return `the lease of ${end.floor.id} not settled`
  const isOwed = end.floor?.end && !end.log.includes(`floor_ended ${end.floor.id}`)
  return isOwed ? `the end of ${end.floor?.id} not told` : undefined
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
      const wrong = wrongIn(world, variant)
      if (wrong) return { worlds: seen.size, wrong }
      following.push(...steps(world, variant))
    }
    open = following
  }
  return { worlds: seen.size, wrong: undefined }
}

describe('the protocol of a floor, all interleavings of messages, ends, reclaims, time and crashes', () => {
  it('E8: has one holder and one end for each floor, loses no message, and settles its lease', () => {
    const { worlds, wrong } = search({}, 24)
    expect(wrong).toBeUndefined()
    expect(worlds).toBeGreaterThan(10_000)
  })

  it.each([
    ['which leaves what is passed on at work', { leavesWork: true }],
    ['which decides anew whose a message is', { hasNoPin: true }],
    ['which forgets that an end was told', { forgetsTold: true }],
    ['in which each message has the whole lease', { hasWholeLease: true }],
  ] as const)('E8: catches a protocol %s', (_what, variant) => {
    expect(search(variant, 24).wrong).toBeDefined()
  })
})
