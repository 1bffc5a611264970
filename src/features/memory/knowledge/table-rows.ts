/** `| --- | :-: |`: what stands below the header of a table, also within a quote. */
export const isDelimiterRow = (line: string): boolean =>
  /^[>|:\- \t]+$/.test(line) &&
  line.includes('|') &&
  cellsOf(line).every((cell) => /^:?-+:?$/.test(cell.trim()))

/** How many cells a row has. */
export const columnsOf = (line: string): number => cellsOf(line).length

/** What stands between the pipes of a row; an escaped pipe is text. */
function cellsOf(line: string): readonly string[] {
  const row = line
    .replace(/^[> \t]*/, '')
    .trimEnd()
    .replaceAll('\\|', '\\ ')
  const from = row.startsWith('|') ? 1 : 0
  return row.slice(from, row.length > 1 && row.endsWith('|') ? -1 : undefined).split('|')
}
