import type { HookPoint } from '#runtime/catalog/types/manifest.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'

/** Those that listen at a point, in the order in which they are asked: dependencies first. */
export const listenersAt = (
  plugins: readonly LoadedPlugin[],
  on: HookPoint,
): readonly LoadedPlugin[] =>
  plugins.filter(({ manifest }) => manifest.contributes.hooks.some((hook) => hook.on === on))

/** Whether an event is for this plugin: what does not match never leaves the host. */
export const isFor = ({ manifest }: LoadedPlugin, on: HookPoint, name: string): boolean =>
  manifest.contributes.hooks.some((hook) => hook.on === on && isMatch(hook.match, name))

/** `kv__set` means itself, `kv__*` whatever begins so, `*` everything. */
const isMatch = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
