import type { ToolExecutor } from './types/plan.ts'
import { createSlots } from './leases/slots.ts'

/** The default executor: runs the calls of a turn side by side, up to the limit, in their order. */
export const parallelExecutor: ToolExecutor = {
  execute(steps, { maxConcurrency, pass }) {
    const slots = createSlots(maxConcurrency)
    return Promise.all(steps.map((step) => slots(() => pass(step))))
  },
}
