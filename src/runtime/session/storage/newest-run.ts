import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { JoinedRow } from './log-rows.ts'

/** A run longer than this is read from the database like any other. */
const maxChars = 2_000_000

/** A row as it was written. */
export interface WrittenRow {
  /** The row as objects, if no other code may still change them; otherwise `text` is parsed. */
  readonly value?: unknown
  readonly text: string
  readonly parts: number
}

/**
 * A copy in memory of the run that this object began last: its rows are read several times while it works. It has
 * exactly the rows of the database; code that is unsure calls `forget`. Its objects must not be changed.
 */
export interface NewestRun<Run> {
  /** @param isNew Nothing of the run was in the database. */
  readonly wrote: (order: number, turn: number, row: WrittenRow, isNew: boolean) => void
  readonly forget: () => void
  /** `undefined` if it is another run: the caller reads the database. */
  readonly run: (order: number) => Run | undefined
  readonly turns: (order: number) => readonly TurnRecord[] | undefined
  /** The last turn alone, without parsing the others. */
  readonly lastTurn: (order: number) => readonly TurnRecord[] | undefined
  /** One row of the run. */
  readonly row: (order: number, turn: number) => JoinedRow<Run> | undefined
  /** The number of parts that a row is stored in, 0 if it is not stored; `undefined` if it is another run. */
  readonly parts: (order: number, turn: number) => number | undefined
}

interface HeldRow {
  readonly parts: number
  readonly chars: number
  readonly read: () => unknown
}

export function createNewestRun<Run>(): NewestRun<Run> {
  let held: { readonly order: number; readonly rows: Map<number, HeldRow> } | undefined
  let chars = 0

  const forget = () => {
    held = undefined
    chars = 0
  }
  const turnsOf = (order: number): readonly HeldRow[] | undefined => {
    if (held?.order !== order) return undefined
    const turns = [...held.rows].filter(([turn]) => turn > 0).sort(([a], [b]) => a - b)
    return turns.map(([, row]) => row)
  }
  const toTurn = (row: HeldRow) => row.read() as TurnRecord

  return {
    forget,
    wrote(order, turn, row, isNew) {
      if (isNew) {
        forget()
        held = { order, rows: new Map() }
      }
      if (held?.order !== order) return
      chars += row.text.length - (held.rows.get(turn)?.chars ?? 0)
      held.rows.set(turn, toHeld(row))
      if (chars > maxChars) forget()
    },
    run: (order) => (held?.order === order ? (held.rows.get(0)?.read() as Run) : undefined),
    turns: (order) => turnsOf(order)?.map(toTurn),
    lastTurn: (order) => turnsOf(order)?.slice(-1).map(toTurn),
    row(order, turn) {
      const row = held?.order === order ? held.rows.get(turn) : undefined
      if (!row) return undefined
      if (turn > 0) return { kind: 'turn', turn: toTurn(row) }
      return { kind: 'run', run: row.read() as Run }
    },
    parts: (order, turn) => (held?.order === order ? (held.rows.get(turn)?.parts ?? 0) : undefined),
  }
}

function toHeld({ value, text, parts }: WrittenRow): HeldRow {
  let known = value
  return { parts, chars: text.length, read: () => (known ??= JSON.parse(text)) }
}
