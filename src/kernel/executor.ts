import type { ToolExecutor } from '#contracts/plan.ts'

/** The default executor: all calls of a turn side by side, first come first served where there are more than may run. */
export const parallelExecutor: ToolExecutor = {
  execute(steps, { maxConcurrency, pass }) {
    const slots = createSlots(maxConcurrency)
    return Promise.all(steps.map((step) => slots(() => pass(step))))
  },
}

/** At most `count` at a time. */
export function createSlots(count: number) {
  const waiting: (() => void)[] = []
  let free = count
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}
