/** A line of a text, without its line end. */
interface Line {
  readonly line: string
  /** From 0. */
  readonly at: number
  /** Where it begins in the text, in characters. */
  readonly from: number
}

/** The lines one by one: a long text is never held twice. */
export function* linesOf(text: string): Generator<Line> {
  const ends = /\r\n?|\n/g
  let [at, from] = [0, 0]
  for (let end = ends.exec(text); end; end = ends.exec(text)) {
    yield { line: text.slice(from, end.index), at, from }
    from = ends.lastIndex
    at += 1
  }
  yield { line: text.slice(from), at, from }
}

/** Whether a line is the row below a table's header (`| --- | :-: |`), also within a quote. */
export const isDelimiterRow = (line: string): boolean =>
  /^[>|:\- \t]+$/.test(line) &&
  line.includes('|') &&
  cellsOf(line).every((cell) => /^:?-+:?$/.test(cell.trim()))

/** The number of cells of a row. */
export const columnsOf = (line: string): number => cellsOf(line).length

/** The texts between the pipes of a row; an escaped pipe is text. */
function cellsOf(line: string): readonly string[] {
  const row = line
    .replace(/^[> \t]*/, '')
    .trimEnd()
    .replaceAll('\\|', '\\ ')
  const from = row.startsWith('|') ? 1 : 0
  return row.slice(from, row.length > 1 && row.endsWith('|') ? -1 : undefined).split('|')
}
