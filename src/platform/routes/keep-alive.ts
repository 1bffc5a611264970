import type { HttpContext } from './types.ts'

/**
 * Without this, work after an answer, or after a closed connection, would be dropped with it. Failures are ignored
 * here.
 */
export function keepAlive(context: HttpContext, work: Promise<unknown>): void {
  const settled = work.catch(() => undefined)
  try {
    context.executionCtx.waitUntil(settled)
  } catch {
    // in tests there is no such context
  }
}
