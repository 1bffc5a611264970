// Text for a terminal.
import { jsonWithCodes, linesWithCodes } from '../src/contracts/visible-text.ts'

/**
 * Text as a terminal may show it: control characters and hidden characters are written as their codes (line
 * breaks and tabs stay). What a model, a tool or a web page says must not move the cursor, set the title or write to
 * the
 * clipboard, and a name in a list is the name that it looks like.
 */
export const shown = (text: unknown): string =>
  linesWithCodes(String(text).replace(/(?<!\r)\r+(?=\n|$)/g, '')).replaceAll('\r', '\\u{d}')

/** The same of a name, such as that of a file: on one line, whole. */
export const shownName = (name: string): string =>
  shown(name).replace(/[\n\t]/g, (char) => `\\u{${char.charCodeAt(0).toString(16)}}`)

/** The same of a piece of a text: what stands at its ends may belong to the pieces beside it. */
export function shownPiece(text: string): string {
  const [, head = '', middle = '', tail = ''] =
    /^(\u200c|\u200d|\ufe0f)?(.*?)(\u200c|\u200d)?$/su.exec(text) ?? []
  return `${head}${shown(middle)}${tail}`
}

/** JSON as a terminal may show it, and as a program reads the same of it. */
export const jsonText = (value: unknown, indent?: number): string =>
  jsonWithCodes(JSON.stringify(value, null, indent) ?? 'null')

/** One line of at most `max` characters. */
export function short(value: unknown, max = 160): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  const line = shown(text).replace(/\s+/g, ' ').trim()
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}

/**
 * Rows in columns that line up; the first row is the head. Nothing is cut: a cell that may be long, its row shortens.
 */
export function table(rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => row.map((cell) => short(cell ?? '', Infinity)))
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  )
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The cell of a column: a field of the row (a field that ends in `AtMs` as a time), or the result of a function. */
type Cell<Row> = (keyof Row & string) | ((row: Row) => unknown)

/** A table of rows by the heads of its columns, or what is said where there are none. */
export function listed<Row extends object>(
  rows: readonly Row[],
  none: string,
  columns: Readonly<Record<string, Cell<Row>>>,
): string {
  const cellOf = (row: Row, cell: Cell<Row>) => {
    if (typeof cell === 'function') return cell(row)
    return /atMs$/i.test(cell) ? time(row[cell]) : row[cell]
  }
  if (rows.length === 0) return none
  const cells = rows.map((row) => Object.values(columns).map((cell) => cellOf(row, cell)))
  return table([Object.keys(columns), ...cells])
}

/** The lines of a text that are there. */
export const lines = (...all: readonly (string | false | undefined | readonly string[])[]) =>
  all.flatMap((one) => (typeof one === 'string' || Array.isArray(one) ? one : [])).join('\n')

/** Epoch milliseconds as UTC, to the second. */
export const time = (ms: unknown): string =>
  typeof ms === 'number' ? new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z') : ''

/** The message of an error, or the text of a value that was thrown. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

export const dollars = (usd: number): string => `$${usd.toFixed(usd !== 0 && usd < 0.01 ? 6 : 2)}`
