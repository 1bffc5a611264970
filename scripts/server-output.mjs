// The output of the Worker, workerd and Miniflare while the server runs, without lines that call for no action.
import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'
import { hasColour } from './style.mjs'
import { createSourcePlaces } from './source-places.mjs'
import { createFaultReader } from './start/readable-fault.mjs'
import { createServerLog, logPath } from './start/server-log.mjs'
import { root } from './toolchain.mjs'

/** First lines of messages that are left out whole. */
const idle = [
  // A client that went away before its answer: our own log has the request.
  /\bdisconnected: .*(Broken pipe|Connection reset)/,
]

/**
 * Lines that are worth showing, one by one. A message is a line, then lines that are indented or empty.
 * @returns The line, or undefined to leave it out.
 */
export function createLineFilter({ isColoured = false } = {}) {
  let isLeftOut = false
  let isBlank = true
  return (line) => {
    const text = stripVTControlCharacters(line)
    if (/^\S/.test(text)) isLeftOut = idle.some((one) => one.test(text))
    if (isLeftOut) return undefined
    // A line that is left out leaves empty lines behind.
    if (text.trim() === '' && isBlank) return undefined
    isBlank = text.trim() === ''
    return isColoured ? line : text
  }
}

const keep = createServerLog(logPath())

/** Passes on what is worth showing from one stream to another, and keeps it as it is for `isola logs`. */
export function passOn(from, to) {
  const pick = createLineFilter({ isColoured: hasColour(to) })
  const withSources = createSourcePlaces(root)
  const read = createFaultReader()
  let isBlank = false
  createInterface({ input: from, crlfDelay: Infinity }).on('line', (line) => {
    const picked = pick(line)
    if (picked === undefined) return
    const text = withSources(picked)
    keep(stripVTControlCharacters(text))
    const shown = read(stripVTControlCharacters(text))
    // A fault is a line: no empty one behind it.
    if (shown === undefined || (isBlank && text.trim() === '')) return
    isBlank = shown !== stripVTControlCharacters(text)
    to.write(`${isBlank ? shown : text}\n`)
  })
}
