import type { TurnRecord } from '#contracts/journal.ts'
import { fromStoredTurn } from './event-version.ts'

/** A run longer than this is read from the database like any other. */
const maxChars = 2_000_000

/**
 * The run that this object began last, as the JSON that it wrote: while it is worked on, its rows are read several
 * times over. Holds what is in the database and nothing else; whoever is in doubt forgets it.
 */
export interface NewestRun<Run> {
  /** @param isNew Nothing of the run was in the database. */
  readonly wrote: (order: number, turn: number, text: string, isNew: boolean) => void
  readonly forget: () => void
  /** `undefined` if it is another run: the database has to be asked. */
  readonly run: (order: number) => Run | undefined
  readonly turns: (order: number) => readonly TurnRecord[] | undefined
  /** The last of `turns` alone: none is read for it but that one. */
  readonly lastTurn: (order: number) => readonly TurnRecord[] | undefined
}

export function createNewestRun<Run>(): NewestRun<Run> {
  let held: { readonly order: number; readonly rows: Map<number, string> } | undefined
  let chars = 0

  const forget = () => {
    held = undefined
    chars = 0
  }
  const turnTexts = (order: number): readonly string[] | undefined => {
    if (held?.order !== order) return undefined
    const turns = [...held.rows].filter(([turn]) => turn > 0).sort(([a], [b]) => a - b)
    return turns.map(([, text]) => text)
  }
  const toTurn = (text: string) => fromStoredTurn(JSON.parse(text) as TurnRecord)

  return {
    forget,
    wrote(order, turn, text, isNew) {
      if (isNew) {
        forget()
        held = { order, rows: new Map() }
      }
      if (held?.order !== order) return
      chars += text.length - (held.rows.get(turn)?.length ?? 0)
      held.rows.set(turn, text)
      if (chars > maxChars) forget()
    },
    run(order) {
      const text = held?.order === order ? held.rows.get(0) : undefined
      return text === undefined ? undefined : (JSON.parse(text) as Run)
    },
    turns: (order) => turnTexts(order)?.map(toTurn),
    lastTurn: (order) => turnTexts(order)?.slice(-1).map(toTurn),
  }
}
