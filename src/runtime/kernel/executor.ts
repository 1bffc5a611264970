import type { ToolExecutor } from './types/plan.ts'
import { createSlots } from './leases/slots.ts'

/** The default executor: all calls of a turn side by side, first come first served where there are more than may run. */
export const parallelExecutor: ToolExecutor = {
  execute(steps, { maxConcurrency, pass }) {
    const slots = createSlots(maxConcurrency)
    return Promise.all(steps.map((step) => slots(() => pass(step))))
  },
}
