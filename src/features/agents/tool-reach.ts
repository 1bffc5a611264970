import type { Manifest, TrustTier } from '#contracts/manifest/manifest.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'
import { codeModeOff, type PluginProblem } from '#contracts/operations.ts'
import type { JsonObject } from '#contracts/json.ts'
import { agentToolName } from './sub-agent-tool.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'

/** An owner of tools: a plugin with its tools and its agent's tool, or a server. */
export interface EntryOwner {
  readonly id: string
  readonly entries: readonly ToolEntry[]
}

/** A plugin as an owner of tools. */
export interface PluginOwner extends EntryOwner {
  readonly plugin: { readonly manifest: Manifest; readonly tier: TrustTier }
}

/** The tools that an agent may call. */
interface ToolReach {
  readonly entries: readonly ToolEntry[]
  /** Entries of `uses_tools` that fit no enabled tool. */
  readonly unknown: readonly string[]
}

/**
 * Resolves `uses_tools`: a plugin id means all its tools, anything else must be a full tool name (Y15).
 * An empty list is no tool at all, and `disallowed_tools` wins (P30). The order of the tools is that of their owners,
 * whatever the order in the manifest.
 */
export function resolveUsesTools(
  usesTools: readonly string[],
  owners: readonly EntryOwner[],
  disallowed: readonly string[] = [],
): ToolReach {
  const wanted = new Set(usesTools)
  const entries = owners.flatMap((owner) =>
    owner.entries.filter(({ tool: { name } }) => {
      if (disallowed.includes(owner.id) || isMatchOfAny(name, disallowed)) return false
      return wanted.has(owner.id) || wanted.has(name)
    }),
  )
  const names = new Set(
    owners.flatMap((owner) => [owner.id, ...owner.entries.map(({ tool }) => tool.name)]),
  )
  return { entries, unknown: [...wanted].filter((name) => !names.has(name)) }
}

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
  'code_mode: the plugin "code" is off, disallowed or could not start (it needs a Worker ' +
  'Loader), so this agent calls its tools one by one: isola plugin enable code'

/** Hears of names in a plugin's `uses_tools` that no tool here has. */
type ReportUnknown = (plugin: string, names: readonly string[]) => void

/**
 * Gives the code of each plugin exactly the tools of its `uses_tools`: its tools get the list of the manifest, an agent
 * with code of its own gets the list of its agent section. All tools come from this one list of owners, so that a new
 * generation holds no tool of an older one.
 */
export function connectCode<Owner extends PluginOwner>(
  owners: readonly Owner[],
  report: ReportUnknown,
  /** Owners of tools that run no code here. */
  others: readonly EntryOwner[] = [],
): readonly Owner[] {
  const connected: readonly Owner[] = owners.map((owner) => ({
    ...owner,
    entries: owner.entries.map((entry) => connect(entry, owner)),
  }))
  return connected

  function connect(entry: ToolEntry, { id, plugin: { manifest } }: PluginOwner): ToolEntry {
    if (!entry.inner) return entry
    const { agent, uses_tools: ofCode } = manifest
    // Without an agent section `run` is a tool's name like any other.
    const isAgent = agent !== undefined && entry.tool.name === agentToolName(id)
    const uses = isAgent ? agent.uses_tools : ofCode
    const without = isAgent ? agent.disallowed_tools : undefined
    report(id, resolveUsesTools(uses, [...owners, ...others]).unknown)
    // Plugins may use each other: the tools of each are looked up at the first call.
    const reach: { tools?: ReadonlyMap<string, ToolEntry> } = {}
    const tools = () =>
      (reach.tools ??= new Map(
        resolveUsesTools(uses, [...connected, ...others], without).entries.map((one) => [
          one.tool.name,
          one,
        ]),
      ))
    const inner = {
      ...entry.inner,
      resolve: (name: string, input: JsonObject) => {
        const found = tools().get(name)
        return found && { entry: found, input }
      },
    }
    return { ...entry, inner }
  }
}

/** An error about a plugin, as an entry of the list of problems. */
export function toProblem(plugin: string, error: unknown): PluginProblem {
  const isOurs = error instanceof IsolaError && error.code.startsWith('plugin_')
  return {
    plugin,
    code: isOurs ? error.code : 'plugin_prompt_invalid',
    message: errorMessage(error),
  }
}

/** Lists each unknown name in a plugin's `uses_tools` once. */
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

/** Lists the tools that a toolset refused. */
export function report(
  plugin: string,
  toolset: { readonly problems: readonly { readonly tool: string; readonly message: string }[] },
  problems: PluginProblem[],
): void {
  for (const { tool, message } of toolset.problems) {
    problems.push({ plugin, code: 'plugin_name_collision', message: `${tool}: ${message}` })
  }
}
