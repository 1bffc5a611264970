/** A line of a text, without what ends it. */
export interface Line {
  readonly line: string
  /** From 0. */
  readonly at: number
  /** Where it begins in the text, in characters. */
  readonly from: number
}

/** One after the other, so that nothing is made of a long text at once. */
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
