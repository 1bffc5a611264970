import type { CallEnd } from './call-end.ts'

/** Wraps a function so that it works, and answers, only until the call is over. */
export type Guard = <A extends unknown[], R>(
  run: (...args: A) => Promise<R>,
) => (...args: A) => Promise<R>

/**
 * A plugin may keep a function beyond its call: it must neither work nor answer then.
 *
 * @param check Throws if a grant may not be used now.
 */
export function createGuard(over: CallEnd, check?: () => Promise<void>): Guard {
  return (run) =>
    async (...args) => {
      over.throwIfAborted()
      await check?.()
      const answer = await run(...args)
      over.throwIfAborted()
      return answer
    }
}

/** Guards all functions of an object. */
export function guardAll<T extends object>(guard: Guard, functions: T): T {
  const guarded = Object.entries(functions).map(([name, run]) => [name, guard(run as never)])
  return Object.fromEntries(guarded) as T
}
