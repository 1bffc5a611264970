// Places in the minified Worker as places in our sources: what `npm start` shows is read by developers.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const place = /file:\/\/\/[^\s"'()]+?\.js:\d+:\d+/g

/** The map beside a bundle, read again when the bundle was built again. */
function createMaps() {
  const known = new Map()
  return (path) => {
    if (!existsSync(path)) return undefined
    const { mtimeMs } = statSync(path)
    const before = known.get(path)
    if (before?.mtimeMs === mtimeMs) return before.map
    const map = new SourceMap(JSON.parse(readFileSync(path, 'utf8')))
    known.set(path, { map, mtimeMs })
    return map
  }
}

/**
 * @param base Paths are shown as they are from here.
 * @returns Takes a line and gives it back with every place that a source map knows put as path:line:column.
 */
export function createSourcePlaces(base) {
  const mapAt = createMaps()
  const toSource = (text) => {
    const [, url, line, column] = /^(.*):(\d+):(\d+)$/.exec(text)
    const path = `${fileURLToPath(url)}.map`
    const entry = mapAt(path)?.findEntry(Number(line) - 1, Number(column) - 1)
    if (entry?.originalSource === undefined) return text
    const source = relative(base, resolve(dirname(path), entry.originalSource))
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  }
  // Without its map a place is shown as it is: to show nothing would be worse.
  return (line) =>
    line.replace(place, (text) => {
      try {
        return toSource(text)
      } catch {
        return text
      }
    })
}
