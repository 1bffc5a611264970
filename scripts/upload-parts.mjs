// Which part of a bundle is from where, by its source map: bytes, and what they cost once compressed.
import { gzipSync } from 'node:zlib'

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The numbers of one segment of a source map (base64 VLQ, ECMA-426 section 9.2.1). */
function numbersOf(segment) {
  const numbers = []
  let [value, shift] = [0, 0]
  for (const char of segment) {
    const digit = digits.indexOf(char)
    value += (digit & 31) << shift
    shift += 5
    if (digit & 32) continue
    numbers.push(value & 1 ? -(value >> 1) : value >> 1)
    ;[value, shift] = [0, 0]
  }
  return numbers
}

/** Pieces of a bundle in their order, each with the index of its source, or -1: together they are the whole text. */
function piecesOf(text, mappings) {
  const pieces = []
  const add = (source, end) => {
    const last = pieces.at(-1)
    if (last?.source === source) last.end = end
    else pieces.push({ source, start: last?.end ?? 0, end })
  }
  let [lineStart, source, last] = [0, 0, -1]
  const lines = mappings.split(';')
  for (const [index, line] of text.split('\n').entries()) {
    let column = 0
    for (const segment of lines[index]?.split(',').filter(Boolean) ?? []) {
      const [columns, sources] = numbersOf(segment)
      column += columns
      // The text before a segment belongs to the previous segment.
      if (lineStart + column > 0) add(last, lineStart + column)
      if (sources !== undefined) source += sources
      last = sources === undefined ? -1 : source
    }
    lineStart = Math.min(lineStart + line.length + 1, text.length)
    if (lineStart > 0) add(last, lineStart)
  }
  return pieces
}

const gzipBytes = (text) => gzipSync(text, { level: 6 }).length

/**
 * What each origin has of a bundle, most compressed bytes first.
 * @param map Its source map, parsed.
 * @param originOf Names where a source is from, by its path in the map; it is given `''` for what is from no source.
 * @returns Rows of `{ origin, rawBytes, gzipBytes }`. `gzipBytes` is how much smaller the compressed bundle is
 *   without it;
 *   what two origins say alike is counted to neither, so the sum is less than the whole.
 */
export function partsOf(text, map, originOf) {
  const names = map.sources.map(originOf)
  const groups = Map.groupBy(piecesOf(text, map.mappings), ({ source }) =>
    source < 0 ? originOf('') : names[source],
  )
  const whole = gzipBytes(text)
  const rows = [...groups].map(([origin, pieces]) => {
    const own = pieces.map(({ start, end }) => text.slice(start, end)).join('')
    let [rest, at] = ['', 0]
    for (const { start, end } of pieces) {
      rest += text.slice(at, start)
      at = end
    }
    rest += text.slice(at)
    return { origin, rawBytes: Buffer.byteLength(own), gzipBytes: whole - gzipBytes(rest) }
  })
  return rows.toSorted((a, b) => b.gzipBytes - a.gzipBytes)
}
