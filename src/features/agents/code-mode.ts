import { codeModeOff, type PluginProblem } from '#contracts/operations.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { resolveUsesTools, type PluginOwner } from './tool-reach.ts'

/** The tool that runs the code of an agent; `undefined` if the agent calls its tools one by one. */
export type CodeOf = (
  agent: string,
  own?: {
    readonly code_mode?: boolean | undefined
    readonly disallowed_tools?: readonly string[]
  },
) => ToolEntry | undefined

/**
 * Gives code mode to the agents whose manifest or operator asks for it. The bundled plugin `code` runs the code.
 * Where the plugin is off, cannot start (no Worker Loader) or is disallowed, the agent calls its tools one by one,
 * with a problem.
 */
export function createCodeMode(
  owners: readonly PluginOwner[],
  writesCode: (agent: string) => boolean,
  problems: PluginProblem[],
): CodeOf {
  // All tools of an agent are never handed to the code of an installed plugin.
  const runs = owners.filter(
    ({ plugin: { manifest, tier } }) => tier === 'builtin' && manifest.grants.isolate === true,
  )
  const ids = runs.map(({ id }) => id)
  return (agent, { code_mode: wants = false, disallowed_tools: disallowed = [] } = {}) => {
    if (!wants && !writesCode(agent)) return undefined
    const { entries } = resolveUsesTools(ids, runs, disallowed)
    const code = entries.find(({ inner }) => inner)
    if (!code) problems.push({ plugin: agent, code: codeModeOff, message })
    return code
  }
}

const message =
  'code_mode: the plugin "code" is off, disallowed or could not start (it needs a Worker Loader), so this agent calls its tools one by one: isola plugin enable code'
