// Text for a terminal.

/**
 * Text as a terminal may show it: without control characters (line breaks and tabs stay). What a model, a tool or a
 * web page says must not move the cursor, set the title or write to the clipboard.
 */
export function shown(text: unknown): string {
  return String(text).replace(/(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu, '')
}

/** One line of at most `max` characters. */
export function short(value: unknown, max = 160): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  const line = shown(text).replace(/\s+/g, ' ').trim()
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}

/** Rows in columns that line up; the first row is the head. Nothing is cut: a cell that may be long, its row shortens. */
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

/** Epoch milliseconds as UTC, to the second. */
export const time = (ms: unknown): string =>
  typeof ms === 'number' ? new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z') : ''

export const dollars = (usd: number): string => `$${usd.toFixed(usd !== 0 && usd < 0.01 ? 6 : 2)}`
