import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Sources } from '#contracts/sources.ts'
import { base62Digits } from '#runtime/session/storage/ids.ts'

const maxDelayMs = 2_147_483_647

/** Time, ids and hashes enter here and nowhere else. */
export const systemSources: Sources = {
  sha256: (text) => createHash('sha256').update(text).digest('hex'),
  clock: {
    nowMs: () => Date.now(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const end = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', end)
          resolve()
        }
        // A longer delay than the platform's timers can hold would fire at once.
        const timer = setTimeout(end, Math.min(ms, maxDelayMs))
        signal?.addEventListener('abort', end, { once: true })
      }),
  },
  ids: {
    next: (prefix) => `${prefix}_${randomBase62()}`,
    traceId: () => randomBytes(16).toString('hex'),
  },
}

/** 22 characters, each drawn evenly: bytes from 248 on would favour the first digits. */
function randomBase62(): string {
  let text = ''
  while (text.length < 22) {
    for (const byte of randomBytes(32)) {
      if (byte < 248 && text.length < 22) text += base62Digits[byte % 62]
    }
  }
  return text
}

/** Random bytes for keys and their sealing. */
export const secureBytes = (count: number): Uint8Array<ArrayBuffer> =>
  crypto.getRandomValues(new Uint8Array(count))

/** HMAC-SHA256. */
export const keyedHash = (key: Uint8Array, text: string): Uint8Array =>
  createHmac('sha256', key).update(text).digest()

/** The Worker's log, which is the operator's. */
export function writeLine(level: 'error' | 'info', line: string): void {
  // oxlint-disable-next-line no-console
  console[level](line)
}
