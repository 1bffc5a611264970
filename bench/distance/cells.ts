import { setTimeout as sleep } from 'node:timers/promises'
import { send } from './client.ts'
import { pathTo, type SerialPath } from './path.ts'
import type { CallRecord } from './record.ts'
import type { FarServer } from './serve.ts'

export const callers = ['operator', 'limited', 'user', 'oauth'] as const
export type Caller = (typeof callers)[number]

type Moment = 'fresh' | 'new' | 'again' | 'later' | 'paused'
type Kind = 'plain' | 'streamed' | 'history' | 'tool' | 'installed' | 'agent'

/** One message, in the order in which a process gets them. */
export interface Cell {
  readonly who: Caller
  /**
   * `fresh`: a process's first request; `new`: a new session in it; `again`: the same session, with its object in
   * memory; `later`: after half a minute; `paused`: after ten minutes.
   */
  readonly when: Moment
  readonly how: Kind
}

export const nameOf = ({ who, when, how }: Cell): string => `${who}/${when}/${how}`

/**
 * How long nothing is asked before a message. No two messages of a person are closer than two seconds, in which the
 * Catalog's last word gets too old for a call of an installed plugin.
 */
const restsMs: Readonly<Record<Moment, number>> = {
  fresh: 0,
  new: 2_000,
  again: 2_000,
  later: 30_000,
  paused: 600_000,
}
/** An idle object leaves memory. */
const idleMs = 10_000
/** A longer rest is always made up. */
const maxWaitMs = 30_000

/** Plain messages of each caller at each moment; the other kinds of an operator and of a user with a daily limit. */
export function cellsOf(who: Caller): readonly Cell[] {
  const plain = (['fresh', 'new', 'again', 'later', 'paused'] as const).map((when): Cell => ({
    who,
    when,
    how: 'plain',
  }))
  if (who !== 'operator' && who !== 'limited') return plain
  const others = (['streamed', 'history', 'tool', 'installed', 'agent'] as const).flatMap((how) =>
    (['new', 'again'] as const).map((when): Cell => ({ who, when, how })),
  )
  return [...plain, ...others]
}

const tasks: Readonly<Record<Kind, string>> = {
  plain: 'bench plain 0',
  streamed: 'bench plain 0',
  history: 'bench plain 0',
  tool: 'bench files 1',
  installed: 'bench far 1',
  agent: 'bench agent 1',
}

const said = (role: 'user' | 'assistant', content: string) => ({ role, content })
const messagesOf = (how: Kind, when: Moment) =>
  how === 'history'
    ? [said('user', `hello ${when}`), said('assistant', 'Good day.'), said('user', tasks.history)]
    : [said('user', tasks[how])]

export interface Measured {
  readonly cell: Cell
  readonly name: string
  /** Of the calls in series before each: the model's first request, the first token of a stream, the whole answer. */
  readonly asked: SerialPath
  readonly firstToken: SerialPath | undefined
  readonly answered: SerialPath
  /** Milliseconds from the request to each. */
  readonly ms: {
    readonly asked: number
    readonly firstToken: number | undefined
    readonly answered: number
  }
  /** Milliseconds before the model was asked that no distance accounts for. */
  readonly ownMs: number
  /** Every call between the request and the rest after it, in milliseconds after the request. */
  readonly calls: readonly MeasuredCall[]
}

export interface MeasuredCall {
  readonly place: string
  readonly name: string
  readonly startMs: number
  readonly endMs: number | undefined
  /** Whether the model was asked only after it, the answer came only after it, or neither waited for it. */
  readonly awaited: 'before the model' | 'before the answer' | 'no'
}

export interface CellOptions {
  readonly server: FarServer
  readonly key: string
  readonly farMs: number
  /** Whether rests are waited for, or made up: idle objects are dropped and clocks moved. */
  readonly rests: 'wait' | 'skip'
}

/** Comes before the message of a cell, where its session is to rest. */
export async function rest({ when }: Cell, { server, rests }: CellOptions): Promise<void> {
  const ms = restsMs[when]
  if (ms < idleMs) await server.later(ms)
  else if (rests === 'wait' && ms <= maxWaitMs) await sleep(ms)
  else {
    await server.dropObjects()
    await server.later(ms)
  }
}

/** Sends the message of a cell and follows the calls it caused. */
export async function measureCell(cell: Cell, options: CellOptions): Promise<Measured> {
  const { server, farMs } = options
  const { when, how } = cell
  const startedMs = Date.now()
  let firstTokenMs: number | undefined
  const answer = await send(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${options.key}`,
      'content-type': 'application/json',
      ...(how !== 'history' && { 'x-isola-session': sessionOf(cell) }),
    },
    body: JSON.stringify({
      model: 'orchestrator',
      messages: messagesOf(how, when),
      ...(how === 'streamed' && { stream: true }),
    }),
    onText: (text) => {
      if (how === 'streamed' && /"content":"[^"]/.test(text)) firstTokenMs ??= Date.now()
    },
  })
  const endedMs = Date.now()
  if (answer.status !== 200)
    throw new Error(`${nameOf(cell)}: ${answer.status} ${answer.text.slice(0, 500)}`)
  const calls = (await callsAtRest(server, farMs)).filter((call) => call.startMs >= startedMs)
  const model = calls
    .filter(({ name }) => name === 'model')
    .toSorted((one, other) => one.startMs - other.startMs)[0]
  if (!model) throw new Error(`${nameOf(cell)}: the model was not asked`)
  const { place, startMs, startOrder } = model
  const asked = pathTo(calls, { place, ms: startMs, order: startOrder }, farMs)
  // The bytes of a stream pass from the session's object through the Worker without a call.
  const from = (ms: number) => ({ place: how === 'streamed' ? 'Session' : 'worker', ms })
  const answered = pathTo(calls, from(endedMs), farMs)
  const awaitedBy = (call: CallRecord): MeasuredCall['awaited'] => {
    if (asked.steps.some((step) => step.call === call)) return 'before the model'
    return answered.steps.some((step) => step.call === call) ? 'before the answer' : 'no'
  }
  return {
    cell,
    name: nameOf(cell),
    asked,
    firstToken: firstTokenMs === undefined ? undefined : pathTo(calls, from(firstTokenMs), farMs),
    answered,
    ms: {
      asked: startMs - startedMs,
      firstToken: firstTokenMs && firstTokenMs - startedMs,
      answered: endedMs - startedMs,
    },
    ownMs: startMs - startedMs - asked.distanceMs,
    calls: calls
      .toSorted((one, other) => one.startMs - other.startMs)
      .map((call) => ({
        place: call.place,
        name: call.name,
        startMs: call.startMs - startedMs,
        endMs: call.endMs && call.endMs - startedMs,
        awaited: awaitedBy(call),
      })),
  }
}

/** A rest must follow a session that is there: `later` and `again` are messages of the `new` one. */
const sessionOf = ({ when, how }: Cell): string =>
  when === 'fresh' ? 'bench-fresh' : `bench-${how}`

/**
 * The calls once none is under way and none has begun for a while. Work that follows a run must not stand in the
 * next.
 */
async function callsAtRest({ calls }: FarServer, farMs: number): Promise<readonly CallRecord[]> {
  for (let last = -1; ;) {
    const now = await calls()
    const isOpen = now.some(({ endMs, to }) => endMs === undefined && to === undefined)
    if (!isOpen && now.length === last) return now
    last = now.length
    await sleep(Math.max(100, farMs))
  }
}
