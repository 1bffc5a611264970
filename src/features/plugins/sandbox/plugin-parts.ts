import { IsolaError } from '#contracts/errors.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import type { Capabilities, HookEvent, PluginParts } from '#features/plugins/types/plugin.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { ProviderKind } from '#contracts/provider.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { IsolateUse } from './isolate-id.ts'

/** A function of a plugin in either host. */
export type HostedFunction = (
  input: JsonObject,
  capabilities: Capabilities,
  context: ToolContext,
) => Promise<unknown>

/**
 * The callable parts of a plugin in either host. A plugin's own functions do not see the context; the isolate host
 * finds the isolate by it.
 */
export interface HostedParts {
  /** Id of the isolate in which the code runs; absent if it runs in the host's own. */
  readonly isolateId?: (use: IsolateUse) => string
  readonly tools?: Readonly<Record<string, HostedFunction>>
  /** By name; each gets `uri` and the variables of its template. */
  readonly resources?: Readonly<Record<string, HostedFunction>>
  /** By name; each gets its arguments. */
  readonly prompts?: Readonly<Record<string, HostedFunction>>
  /** By kind; each gets a request. */
  readonly providers?: Readonly<Record<string, HostedFunction>>
  readonly agent?: {
    readonly invoke: (
      request: { readonly task: string; readonly context?: string },
      capabilities: Capabilities,
      context: ToolContext,
    ) => Promise<unknown>
  }
  /** By point; each answers once for all given events, in their order. */
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

/** What a plugin provides (Y4). */
export type Protocol =
  | 'ToolProvider'
  | 'AgentProvider'
  | 'SchedulerProvider'
  | 'HookProvider'
  | 'ResourceProvider'
  | 'PromptProvider'
  | 'MemoryProvider'
  | 'KnowledgeProvider'
  | 'ContextProvider'

const protocolOfKind = {
  memory: 'MemoryProvider',
  knowledge: 'KnowledgeProvider',
  context: 'ContextProvider',
} as const satisfies Record<ProviderKind, Protocol>

const laterParts = ['channel', 'service'] as const
const knownParts: ReadonlySet<string> = new Set([
  'tools',
  'agent',
  'schedule',
  'hooks',
  'resources',
  'prompts',
  'providers',
  ...laterParts,
])

/**
 * Checks the return value of `register` against the manifest, and names the plugin's protocols.
 *
 * @throws `plugin_contract_mismatch` with the first difference.
 */
export function detectProtocols(manifest: Manifest, parts: PluginParts): readonly Protocol[] {
  refuseUnknown(parts)
  refuseLater(manifest, parts)
  checkNamed('tools', namesOf(manifest.contributes.tools), parts.tools)
  checkNamed('resources', namesOf(manifest.contributes.resources), parts.resources)
  checkNamed('prompts', namesOf(manifest.contributes.prompts), parts.prompts)
  checkNamed(
    'hooks',
    manifest.contributes.hooks.map(({ on }) => on),
    parts.hooks,
  )
  checkNamed('providers', manifest.contributes.providers, parts.providers)
  checkAgent(manifest, parts)
  checkSchedule(manifest, parts)
  return protocolsOf(manifest)
}

/** By the manifest alone. */
export function protocolsOf(manifest: Manifest): readonly Protocol[] {
  const protocols: Protocol[] = []
  if (manifest.contributes.tools.length > 0) protocols.push('ToolProvider')
  if (manifest.agent) protocols.push('AgentProvider')
  if (manifest.schedule !== undefined) protocols.push('SchedulerProvider')
  if (manifest.contributes.hooks.length > 0) protocols.push('HookProvider')
  if (manifest.contributes.resources.length > 0) protocols.push('ResourceProvider')
  if (manifest.contributes.prompts.length > 0) protocols.push('PromptProvider')
  protocols.push(...manifest.contributes.providers.map((kind) => protocolOfKind[kind]))
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

/** A part that this version does not support must not be dropped silently. */
export function refuseLater(manifest: Manifest, parts: PluginParts = {}): void {
  const asked: string[] = laterParts.filter((part) => parts[part] !== undefined)
  if (manifest.contributes.skills.length > 0) asked.push('contributes.skills')
  if (asked.length > 0)
    throw mismatch(`not yet: this version of Isola does not have ${asked.join(', ')}`)
}

const namesOf = (declared: readonly { readonly name: string }[]) => declared.map(({ name }) => name)

/** Each name in the manifest needs a function in the module, and each function a name in the manifest. */
function checkNamed(what: string, declared: readonly string[], functions: object = {}): void {
  const missing = declared.filter((name) => typeof ownMember(functions, name) !== 'function')
  if (missing.length > 0)
    throw mismatch(`plugin.yaml declares ${what} without a function: ${missing.join(', ')}`)
  const extra = Object.keys(functions).filter((name) => !declared.includes(name))
  if (extra.length > 0)
    throw mismatch(
      `these ${what} are not in contributes.${what} of plugin.yaml: ${extra.join(', ')}`,
    )
}

function ownMember(tools: object, name: string): unknown {
  return Object.hasOwn(tools, name) ? Reflect.get(tools, name) : undefined
}

/** Our kernel runs an agent section without an `agent` member; with one, its own `invoke` runs (Y14). */
function checkAgent(manifest: Manifest, parts: PluginParts): void {
  if (parts.agent === undefined) return
  if (!manifest.agent)
    throw mismatch('register() returned an agent, but plugin.yaml has no agent section')
  if (typeof parts.agent?.invoke !== 'function') throw mismatch('agent.invoke must be a function')
}

/** A schedule needs both its time in plugin.yaml and its code: either alone would never run. */
function checkSchedule(manifest: Manifest, parts: PluginParts): void {
  if (manifest.schedule === undefined && parts.schedule === undefined) return
  if (manifest.schedule === undefined)
    throw mismatch('register() returned a schedule, but plugin.yaml has no schedule')
  if (typeof parts.schedule?.execute !== 'function')
    throw mismatch('plugin.yaml has a schedule: register() must return schedule.execute')
}
