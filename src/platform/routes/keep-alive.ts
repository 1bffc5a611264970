import type { HttpContext } from './types.ts'

/** Without this what follows an answer, or a closed connection, would be dropped with it. Failures are nobody's here. */
export function keepAlive(context: HttpContext, work: Promise<unknown>): void {
  const settled = work.catch(() => undefined)
  try {
    context.executionCtx.waitUntil(settled)
  } catch {
    // in tests there is no such context
  }
}
