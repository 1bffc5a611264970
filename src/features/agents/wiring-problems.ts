import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { PluginProblem } from '#contracts/operations.ts'

/** What was thrown about a plugin, as it is listed. */
export function toProblem(plugin: string, error: unknown): PluginProblem {
  const isOurs = error instanceof IsolaError && error.code.startsWith('plugin_')
  return {
    plugin,
    code: isOurs ? error.code : 'plugin_prompt_invalid',
    message: errorMessage(error),
  }
}

/** Lists names that a plugin uses and that are not there, each once. */
export function reportUnknown(
  plugin: string,
  names: readonly string[],
  problems: PluginProblem[],
): void {
  for (const name of names) {
    const message = `uses_tools: "${name}" is neither an enabled plugin nor one of its tools`
    const isKnown = problems.some((one) => one.plugin === plugin && one.message === message)
    if (!isKnown) problems.push({ plugin, code: 'plugin_dependency_missing', message })
  }
}

/** Lists tools that could not be taken into a set of tools. */
export function report(
  plugin: string,
  toolset: { readonly problems: readonly { readonly tool: string; readonly message: string }[] },
  problems: PluginProblem[],
): void {
  for (const { tool, message } of toolset.problems) {
    problems.push({ plugin, code: 'plugin_name_collision', message: `${tool}: ${message}` })
  }
}
