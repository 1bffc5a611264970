import type { ToolExecutor, Planner, Reflector } from './types/plan.ts'
import { createSlots } from './leases/share.ts'
import type { Kernel } from './types/kernel.ts'
import { maxOutputChars } from './inner.ts'
import { createKernel } from './run.ts'
import type { KernelParts } from './segment.ts'

/** The default executor: runs the calls of a turn side by side, up to the limit, in their order. */
export const parallelExecutor: ToolExecutor = {
  execute(steps, { maxConcurrency, pass }) {
    const slots = createSlots(maxConcurrency)
    return Promise.all(steps.map((step) => slots(() => pass(step))))
  },
}

export interface KernelChoice extends Omit<KernelParts, 'executor'> {
  /** Planner and reflector of a run that makes one call and asks no model. */
  readonly direct: { readonly planner: Planner; readonly reflector: Reflector }
}

/** The loop, with the parts for a run with a model, or for one direct call. */
export function composeKernel({ direct, ...rest }: KernelChoice): Kernel {
  const parts = { executor: parallelExecutor, ...rest }
  const withModel = createKernel(parts)
  // The caller of a direct call has no context to fill, and gets the whole result after the hooks.
  const outputs = { ...parts.gates.outputs, maxChars: maxOutputChars }
  const ofOneCall = createKernel({ ...parts, ...direct, gates: { ...parts.gates, outputs } })
  return {
    run: (input, ports) => (input.options.directCall ? ofOneCall : withModel).run(input, ports),
  }
}
