import type { ModelParameters } from '#contracts/model.ts'

/** The parameters for later calls of a run: a forced tool applies to the first call only. */
export function afterFirstCall(parameters: ModelParameters): ModelParameters {
  const { toolChoice: _first, ...rest } = parameters
  return rest
}
