/**
 * The same text with LF at the end of each line, whatever it had, piece by piece: a CRLF may lie across two. Parsers of
 * server-sent events look for CR and LF from each line on, which takes quadratic time where a stream has few of one.
 */
export function createLineFeeds(): (piece: string) => string {
  const before = { isReturn: false }
  return (piece) => {
    if (piece === '') return ''
    const text = before.isReturn && piece.startsWith('\n') ? piece.slice(1) : piece
    before.isReturn = piece.endsWith('\r')
    return text.replace(/\r\n?/g, '\n')
  }
}
