import type { Manifest, TrustTier } from '#contracts/manifest/manifest.ts'
import { codeModeOff, type PluginProblem } from '#contracts/operations.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { resolveUsesTools, type ToolOwner } from './tool-reach.ts'

interface CodeOwner extends ToolOwner {
  readonly plugin: { readonly manifest: Manifest; readonly tier: TrustTier }
}

/** What runs the code of an agent, if it writes code; `undefined` if it calls its tools one by one. */
export type CodeOf = (
  agent: string,
  own?: {
    readonly code_mode?: boolean | undefined
    readonly disallowed_tools?: readonly string[]
  },
) => ToolEntry | undefined

/**
 * Code mode is what an agent's manifest or the operator asks for, and runs on the plugin that ships for it. Where that is
 * off, cannot start (no Worker Loader) or is disallowed, the agent calls its tools as any other, and that is said.
 */
export function createCodeMode(
  owners: readonly CodeOwner[],
  writesCode: (agent: string) => boolean,
  problems: PluginProblem[],
): CodeOf {
  // Code of others is never handed all that an agent may call.
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
