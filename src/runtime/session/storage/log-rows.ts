import type { TurnRecord } from '#runtime/kernel/types/journal.ts'

/** A row as SQLite gives it. */
export type Row = Record<string, SqlStorageValue>

/** A value over 2 MB does not fit a row: longer turns are split. A unit of UTF-16 takes up to three bytes there. */
const maxPartChars = 600_000

/** A row put together: a run, as the store types it, or a turn of one. */
export type JoinedRow<Run> =
  | { readonly kind: 'run'; readonly run: Run }
  | { readonly kind: 'turn'; readonly turn: TurnRecord }

/** Cuts a text into parts that fit a row, never between the two units of one character. */
export function toParts(text: string): readonly string[] {
  const parts: string[] = []
  for (let start = 0; start < text.length; start += parts.at(-1)!.length) {
    const part = text.slice(start, start + maxPartChars)
    const isCut = start + part.length < text.length && /[\uD800-\uDBFF]$/.test(part)
    parts.push(isCut ? part.slice(0, -1) : part)
  }
  return parts
}

/**
 * Joins the parts of each row.
 *
 * @param onDamaged Called with the run of a row that cannot be read; the row is left out.
 */
export function join<Run>(
  rows: readonly Row[],
  onDamaged: (order: number) => void,
): JoinedRow<Run>[] {
  const bodies = new Map<string, { run: number; turn: number; text: string }>()
  for (const row of rows) {
    const key = `${row['run']}:${row['turn']}`
    const before = bodies.get(key)?.text ?? ''
    const [run, turn] = [Number(row['run']), Number(row['turn'])]
    bodies.set(key, { run, turn, text: before + String(row['body']) })
  }
  return [...bodies.values()].flatMap(({ run, turn, text }): JoinedRow<Run>[] => {
    const value = parse(text)
    if (value !== undefined && (turn === 0 ? isRun(value) : isTurn(value))) {
      return turn === 0
        ? [{ kind: 'run', run: value as Run }]
        : [{ kind: 'turn', turn: value as TurnRecord }]
    }
    onDamaged(run)
    return []
  })
}

/** JSON of another shape would crash its reader, so it counts as unreadable. */
const isTurn = (value: unknown) =>
  ['steps', 'calls', 'modelCalls', 'events'].every((name) => Array.isArray(fieldOf(value, name)))
const isRun = (value: unknown) => Array.isArray(fieldOf(fieldOf(value, 'submission'), 'messages'))
const fieldOf = (value: unknown, name: string): unknown => Reflect.get(Object(value), name)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
