import { createHash, randomBytes } from 'node:crypto'
import type { Sources } from '#contracts/sources.ts'
import { toBase62 } from './sessions/gateway.ts'

/** Time, ids and hashes enter here and nowhere else. */
export const systemSources: Sources = {
  sha256: (text) => createHash('sha256').update(text).digest('hex'),
  clock: {
    nowMs: () => Date.now(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const timer = setTimeout(resolve, ms)
        signal?.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
      }),
  },
  ids: {
    next: (prefix) => `${prefix}_${toBase62(randomBytes(24).toString('hex'))}`,
    traceId: () => randomBytes(16).toString('hex'),
  },
}
