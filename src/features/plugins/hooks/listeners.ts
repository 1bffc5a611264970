import type { HookPoint } from '#runtime/catalog/types/permit.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'

/** The plugins that listen at a point, in the order in which they are asked: dependencies first. */
export const listenersAt = (
  plugins: readonly LoadedPlugin[],
  on: HookPoint,
): readonly LoadedPlugin[] =>
  plugins.filter(({ manifest }) => manifest.contributes.hooks.some((hook) => hook.on === on))

/** Whether an event is for this plugin: an event that does not match never leaves the host. */
export const isFor = ({ manifest }: LoadedPlugin, on: HookPoint, name: string): boolean =>
  manifest.contributes.hooks.some((hook) => hook.on === on && isMatch(hook.match, name))

/** `kv__set` matches itself, `kv__*` every name with this beginning, `*` every name. */
const isMatch = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
