import { IsolaError } from '#contracts/errors.ts'
import type { Manifest } from '#contracts/manifest.ts'
import type { Capabilities, HookEvent, PluginParts } from '#contracts/plugin.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { ToolContext } from '#contracts/tool.ts'

/**
 * The callable parts of a plugin, whichever host runs them. A function of a plugin's own does not see the context; the
 * isolate host finds its isolate by it.
 */
export interface HostedParts {
  /** Of the isolate in which its code runs for a session tree; absent where it runs in the host's own. */
  readonly isolateId?: (rootSession: string) => string
  readonly tools?: Readonly<
    Record<
      string,
      (input: JsonObject, capabilities: Capabilities, context: ToolContext) => Promise<unknown>
    >
  >
  readonly agent?: {
    readonly invoke: (
      request: { readonly task: string; readonly context?: string },
      capabilities: Capabilities,
      context: ToolContext,
    ) => Promise<unknown>
  }
  /** By point; each answers once for all events it is given, in their order. */
  readonly hooks?: Readonly<
    Record<
      string,
      (
        events: readonly HookEvent[],
        capabilities: Capabilities,
        context: ToolContext,
      ) => Promise<unknown>
    >
  >
  readonly schedule?: {
    readonly execute: (capabilities: Capabilities, context: ToolContext) => Promise<unknown>
  }
}

/** What a plugin does, seen from what it provides (Y4). */
export type Protocol = 'ToolProvider' | 'AgentProvider' | 'SchedulerProvider' | 'HookProvider'

const laterParts = ['channel', 'service', 'providers', 'resources', 'prompts'] as const
const knownParts: ReadonlySet<string> = new Set([
  'tools',
  'agent',
  'schedule',
  'hooks',
  ...laterParts,
])

/**
 * Checks what `register` returned against the manifest and names the protocols in it.
 *
 * @throws `plugin_contract_mismatch` with the first thing that does not fit.
 */
export function detectProtocols(manifest: Manifest, parts: PluginParts): readonly Protocol[] {
  refuseUnknown(parts)
  refuseLater(manifest, parts)
  checkTools(manifest, parts)
  checkAgent(manifest, parts)
  checkSchedule(manifest, parts)
  checkHooks(manifest, parts)
  return protocolsOf(manifest)
}

/** By the manifest alone. */
export function protocolsOf(manifest: Manifest): readonly Protocol[] {
  const protocols: Protocol[] = []
  if (manifest.contributes.tools.length > 0) protocols.push('ToolProvider')
  if (manifest.agent) protocols.push('AgentProvider')
  if (manifest.schedule !== undefined) protocols.push('SchedulerProvider')
  if (manifest.contributes.hooks.length > 0) protocols.push('HookProvider')
  return protocols
}

function mismatch(message: string): IsolaError {
  return new IsolaError('plugin_contract_mismatch', message)
}

/** `register` is foreign code: it may return anything. */
export function isPartsObject(value: unknown): value is PluginParts {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !('then' in value)
}

function refuseUnknown(parts: PluginParts): void {
  const unknown = Object.keys(parts).filter((key) => !knownParts.has(key))
  if (unknown.length > 0) {
    throw mismatch(
      `register() returned unknown members: ${unknown.join(', ')}; known are ${[...knownParts].join(', ')}`,
    )
  }
}

/** A part whose room is not built yet must not be dropped silently. */
export function refuseLater(manifest: Manifest, parts: PluginParts = {}): void {
  const asked: string[] = laterParts.filter((part) => parts[part] !== undefined)
  if (manifest.contributes.skills.length > 0) asked.push('contributes.skills')
  if (asked.length > 0)
    throw mismatch(`not yet: this version of Isola does not have ${asked.join(', ')}`)
}

function checkTools(manifest: Manifest, parts: PluginParts): void {
  const declared = manifest.contributes.tools.map((tool) => tool.name)
  const tools = parts.tools ?? {}
  const missing = declared.filter((name) => typeof ownMember(tools, name) !== 'function')
  if (missing.length > 0)
    throw mismatch(`plugin.yaml declares tools without a function: ${missing.join(', ')}`)
  const extra = Object.keys(tools).filter((name) => !declared.includes(name))
  if (extra.length > 0)
    throw mismatch(`these tools are not in contributes.tools of plugin.yaml: ${extra.join(', ')}`)
}

function ownMember(tools: object, name: string): unknown {
  return Object.hasOwn(tools, name) ? Reflect.get(tools, name) : undefined
}

/** An agent section without an `agent` member is run by our kernel; with one, by its own `invoke` (Y14). */
function checkAgent(manifest: Manifest, parts: PluginParts): void {
  if (parts.agent === undefined) return
  if (!manifest.agent)
    throw mismatch('register() returned an agent, but plugin.yaml has no agent section')
  if (typeof parts.agent?.invoke !== 'function') throw mismatch('agent.invoke must be a function')
}

/** A schedule is the time in plugin.yaml and the code for it: one without the other would never run. */
function checkSchedule(manifest: Manifest, parts: PluginParts): void {
  if (manifest.schedule === undefined && parts.schedule === undefined) return
  if (manifest.schedule === undefined)
    throw mismatch('register() returned a schedule, but plugin.yaml has no schedule')
  if (typeof parts.schedule?.execute !== 'function')
    throw mismatch('plugin.yaml has a schedule: register() must return schedule.execute')
}

function checkHooks(manifest: Manifest, parts: PluginParts): void {
  const declared: readonly string[] = manifest.contributes.hooks.map(({ on }) => on)
  const hooks = parts.hooks ?? {}
  const missing = declared.filter((on) => typeof ownMember(hooks, on) !== 'function')
  if (missing.length > 0)
    throw mismatch(`plugin.yaml declares hooks without a function: ${missing.join(', ')}`)
  const extra = Object.keys(hooks).filter((on) => !declared.includes(on))
  if (extra.length > 0)
    throw mismatch(`these hooks are not in contributes.hooks of plugin.yaml: ${extra.join(', ')}`)
}
