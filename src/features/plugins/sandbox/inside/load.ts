import type { PluginParts } from '#features/plugins/types/plugin.ts'
import { toJson } from '../json-border.ts'

/** The input of `register`. */
export interface About {
  readonly id: string
  readonly version: string
  readonly config: Readonly<Record<string, unknown>>
}

/** Why a plugin's code cannot be used, in words for its author. */
export class LoadFault extends Error {
  readonly code: 'plugin_register_failed' | 'plugin_contract_mismatch'

  constructor(code: LoadFault['code'], message: string) {
    super(message)
    this.code = code
  }
}

const kept: { parts?: PluginParts } = {}

/** The parts, if the plugin is registered already. */
export const loadedParts = (): PluginParts | undefined => kept.parts

/** The plugin's parts. Its module is imported and registered once in the life of an isolate, without any capability. */
export async function loadParts(about: About): Promise<PluginParts> {
  if (kept.parts) return kept.parts
  const { default: register } = await importCode()
  if (typeof register !== 'function')
    throw new LoadFault(
      'plugin_register_failed',
      'the default export must be the register function',
    )
  kept.parts = callRegister(register, about)
  return kept.parts
}

async function importCode(): Promise<{ readonly default: unknown }> {
  try {
    return await import('plugin-code.js')
  } catch (error) {
    throw new LoadFault('plugin_register_failed', `the module failed: ${textOf(error)}`)
  }
}

function callRegister(register: unknown, { id, version, config }: About): PluginParts {
  let parts: unknown
  try {
    parts = Reflect.apply(register as () => unknown, undefined, [
      { id, version, config: toJson(config) },
    ])
  } catch (error) {
    throw new LoadFault('plugin_register_failed', `register() failed: ${textOf(error)}`)
  }
  if (typeof parts === 'object' && parts !== null && !Array.isArray(parts) && !('then' in parts))
    return parts
  throw new LoadFault(
    'plugin_register_failed',
    'register() must return an object at once, such as { tools: { … } }',
  )
}

/** The names of the parts, and for each whether it is a function, for the host to compare with the manifest. */
export function describeParts(parts: PluginParts): unknown {
  return {
    members: Object.keys(parts),
    tools: functionsOf(parts.tools),
    resources: functionsOf(parts.resources),
    prompts: functionsOf(parts.prompts),
    providers: functionsOf(parts.providers),
    hooks: functionsOf(parts.hooks),
    execute: typeof parts.schedule?.execute === 'function',
    invoke: typeof parts.agent?.invoke === 'function',
  }
}

const functionsOf = (named: object = {}) =>
  Object.entries(named).map(([name, run]) => ({ name, isFunction: typeof run === 'function' }))

/** Any thrown value as a text of at most 500 characters. */
export function textOf(error: unknown): string {
  return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(0, 500)
}
