/**
 * `vi.waitFor` gives up after a second where no time is named, which a busy machine does not keep. It waits for a
 * condition: where that comes, it comes as soon as ever.
 */
import { vi } from 'vitest'

const patienceMs = 60_000
const mark = Symbol.for('isola-patience')
const { waitFor, waitUntil } = vi

// Files of a run may share all globals.
if (!Reflect.has(vi, mark)) {
  vi.waitFor = (look, options = {}) =>
    waitFor(look, typeof options === 'number' ? options : { timeout: patienceMs, ...options })
  vi.waitUntil = (look, options = {}) =>
    waitUntil(look, typeof options === 'number' ? options : { timeout: patienceMs, ...options })
  Reflect.set(vi, mark, true)
}
