// The output of the local server, in a file beside its data: `isola logs` reads it. At most two files of this size.
import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { root } from '../toolchain.mjs'

export const maxLogBytes = 1024 * 1024
const maxLineChars = 16_384

/** The newer of the two files; the older one ends in `.1`. */
export const logPath = (env = process.env) =>
  join(resolve(root, env.ISOLA_STATE || '.wrangler/state'), 'server.log')

const sizeOf = (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/**
 * Keeps lines, each with when it was said. A full disk ends no server.
 *
 * @returns What takes a line.
 */
export function createServerLog(path, { maxBytes = maxLogBytes, now = () => new Date() } = {}) {
  let sizeBytes
  return (line) => {
    if (line.trim() === '') return
    const text = `${now().toISOString()} ${line.slice(0, maxLineChars)}\n`
    try {
      if (sizeBytes === undefined) {
        mkdirSync(dirname(path), { recursive: true })
        sizeBytes = sizeOf(path)
      }
      if (sizeBytes + Buffer.byteLength(text) > maxBytes && sizeBytes > 0) {
        renameSync(path, `${path}.1`)
        sizeBytes = 0
      }
      appendFileSync(path, text, { mode: 0o600 })
      sizeBytes += Buffer.byteLength(text)
    } catch {
      // Its folder may have been deleted: it is made anew with the next line.
      sizeBytes = undefined
    }
  }
}
