import { defined } from '#contracts/defined.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { Message } from '#contracts/message.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { ItemPlace, ItemsPage, ItemsQuery, SaidItem } from '../types/session-view.ts'
import type { ResponsePlace } from '../types/submission.ts'
import { toTurnSaid } from '#runtime/kernel/types/turn-said.ts'
import { spokenIn } from '../floor/message-router.ts'
import { addedBetween } from '../storage/session-row.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Addition, RunRow, SessionRow } from '../storage/stored-rows.ts'
import { clientCallsOf } from './response-places.ts'

/** A longer page ends early: an answer of the object may have 32 MiB. */
const maxPageChars = 4_000_000

export function itemsPage(store: SessionStore, query: ItemsQuery): ItemsPage {
  const { inputsOf: place, only, after, order, limit } = query
  const stretches = (from: number | undefined) =>
    place ? [inputsAfter(place, store)] : stretchesFrom(store, from, order)
  if (only) {
    const [stretch = []] = stretches(placeOf(only, store) ?? 0)
    return { items: stretch.filter((item) => isAt(item, only)), hasMore: false }
  }
  const items: SaidItem[] = []
  let chars = 0
  let isBehind = after === undefined
  for (const stretch of stretches(after && (placeOf(after, store) ?? 0))) {
    const sorted = order === 'desc' ? stretch.toReversed() : stretch
    const start = isBehind ? 0 : sorted.findIndex((item) => isAt(item, after!)) + 1
    if (!isBehind && start === 0) break
    isBehind = true
    for (const item of sorted.slice(start)) {
      chars += JSON.stringify(item).length
      const isFull = items.length === limit || (items.length > 0 && chars > maxPageChars)
      if (isFull) return { items, hasMore: true }
      items.push(item)
    }
  }
  if (!isBehind) {
    throw new IsolaError('request_invalid', 'after: is no item of this list.', { param: 'after' })
  }
  return { items, hasMore: false }
}

const isAt = (item: SaidItem, { type, run, key }: ItemPlace) =>
  item.type === type && item.run === run && item.key === key

/**
 * The input of a response: the messages of its run, or the results of its client's tools with the messages beside
 * them.
 */
function inputsAfter({ run, turn }: ResponsePlace, store: SessionStore): readonly SaidItem[] {
  const row = store.findRun(run)
  return (row ? itemsOfRun(row, store.turns(row.order)) : []).filter((item) => {
    if (item.turn !== turn) return false
    return turn === 0
      ? item.key.startsWith('i')
      : item.type === 'output' || item.key.startsWith('s')
  })
}

/**
 * The conversation of a session as its client knows it: every branch in accept order, without the agent's own tools.
 * One stretch for the messages before the first run, and one for each run with the messages added behind it. Each
 * stretch is read when it is needed.
 */
function* stretchesFrom(
  store: SessionStore,
  from: number | undefined,
  order: ItemsQuery['order'],
): Iterable<readonly SaidItem[]> {
  const last = store.lastOrder()
  if (order === 'asc') for (let at = from ?? 0; at <= last; at += 1) yield stretchAt(at, store)
  else for (let at = from ?? last; at >= 0; at -= 1) yield stretchAt(at, store)
}

function stretchAt(order: number, store: SessionStore): readonly SaidItem[] {
  const session: Pick<SessionRow, 'preamble' | 'additions'> = store.session() ?? {}
  if (order === 0) return inputsOf(session.preamble ?? [], {})
  const toItems = (addition: Addition) => {
    const place = session.additions!.indexOf(addition)
    return inputsOf(addition.messages, { prefix: `a${place}_` })
  }
  const [row] = store.runs(order, order)
  return [
    ...(row ? itemsOfRun(row, store.turns(order)) : []),
    ...addedBetween(session, order, order + 1).flatMap(toItems),
  ]
}

/** The stretch of an item. */
function placeOf({ run, key }: ItemPlace, store: SessionStore): number | undefined {
  if (run !== undefined) return store.findRun(run)?.order
  const [, addition] = /^a(\d+)_/.exec(key) ?? []
  if (addition === undefined) return 0
  return store.session()?.additions?.[Number(addition)]?.behind
}

function itemsOfRun(row: RunRow, turns: readonly TurnRecord[]): readonly SaidItem[] {
  const { id: run, submission, inbox = [] } = row
  const { after, messages } = submission
  let seen = 0
  /** Messages that arrived during the run, without outcomes of sub-agents. */
  const received = (count: number, turn: number): readonly SaidItem[] => {
    const from = seen
    seen += count
    return inbox.slice(from, seen).flatMap(({ message, call }, index) => {
      if (call !== undefined || message.role !== 'user') return []
      return [{ run, key: `s${from + index}`, turn: turn - 1, type: 'message', ...said(message) }]
    })
  }
  return [
    ...inputsOf(messages, { run, ...(after && { callsOf: after.run }) }),
    ...turns.flatMap((turn) => [
      ...received(turn.received?.length ?? 0, turn.turn),
      ...saidIn(turn, row),
    ]),
    ...received(inbox.length, (turns.at(-1)?.turn ?? 0) + 1),
  ]
}

/** The items of a turn. Each item names its run and its turn. */
function saidIn(turn: TurnRecord, row: RunRow): readonly SaidItem[] {
  const run = row.id
  const { text } = toTurnSaid(turn)
  const first = text === '' ? turn.turn : turn.turn + 1
  const clientCalls = clientCallsOf(turn)
  const of = { run, turn: turn.turn }
  return [
    ...(text === ''
      ? []
      : [{ ...of, key: `${turn.turn}`, type: 'message', role: 'assistant', text } as const]),
    ...spokenIn(row, turn)
      .slice(0, 1)
      .map(({ role, text: words }) => {
        return { ...of, key: `${first}`, type: 'message', role, text: words } as const
      }),
    ...clientCalls.map(({ id, tool: name, input }) => {
      return { ...of, key: id, type: 'call', call: id, callsOf: run, name, input } as const
    }),
    ...clientCalls.flatMap(({ id, outcome }) => {
      if (!outcome) return []
      const output = outcome.ok ? outcome.output : { error: { ...outcome.error } }
      return [{ ...of, key: id, type: 'output', call: id, callsOf: run, output } as const]
    }),
  ]
}

const said = ({ role, text, images, name }: Extract<Message, { role: 'user' }>) => {
  return { role, text, ...defined({ images, name }) }
}

/** The items of a client's own messages. @param of.callsOf The run whose calls they answer, if the calls are ours. */
function inputsOf(
  messages: readonly Message[],
  of: { readonly run?: string; readonly callsOf?: string; readonly prefix?: string },
): readonly SaidItem[] {
  const { callsOf, prefix = 'i', ...place } = of
  return messages.flatMap((message, index): readonly SaidItem[] => {
    const key = `${prefix}${index}`
    switch (message.role) {
      case 'system':
        return []
      case 'user':
        return [{ ...place, turn: 0, key, type: 'message', ...said(message) }]
      case 'assistant': {
        const { role, text, toolCalls = [] } = message
        const calls = toolCalls.map(({ id: call, name, input }, number): SaidItem => {
          return { ...place, turn: 0, key: `${key}_${number}`, type: 'call', call, name, input }
        })
        const spoken = { ...place, turn: 0, key, type: 'message', role, text } as const
        return text === '' ? calls : [spoken, ...calls]
      }
      case 'tool': {
        const { callId: call, name, output } = message
        // An output without a name answers a call of the response before, which is not in the list.
        const ours = name === '' && callsOf !== undefined ? { callsOf } : {}
        return [{ ...place, turn: 0, key, type: 'output', call, ...ours, output }]
      }
    }
  })
}
