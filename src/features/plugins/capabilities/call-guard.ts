import type { CallEnd } from './call-end.ts'

/** Makes a function of one that works, and answers, only until the call is over. */
export type Guard = <A extends unknown[], R>(
  run: (...args: A) => Promise<R>,
) => (...args: A) => Promise<R>

/**
 * A function kept beyond its call must not work, nor answer late.
 *
 * @param check Throws if what was granted may not be used now.
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

/** All functions of an object, each so guarded. */
export function guardAll<T extends object>(guard: Guard, functions: T): T {
  const guarded = Object.entries(functions).map(([name, run]) => [name, guard(run as never)])
  return Object.fromEntries(guarded) as T
}
