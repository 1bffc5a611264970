import type { ModelParameters } from '#contracts/model.ts'

/** What later calls of a run ask for: only its first is held to a tool. */
export function afterFirstCall(parameters: ModelParameters): ModelParameters {
  const { toolChoice: _first, ...rest } = parameters
  return rest
}
