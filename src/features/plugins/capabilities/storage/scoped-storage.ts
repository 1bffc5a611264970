import { lengthPrefixed, principalParts } from '#contracts/objects.ts'
import { pluginServiceParts, type PluginServiceApi } from '../../types/plugin-service.ts'
import type { PrincipalApi } from '#runtime/session/types/principal.ts'
import type { AskStorage } from './granted-storage.ts'

/** The part of a Durable Object namespace that is used here. */
interface Namespace {
  readonly getByName: (name: string) => unknown
}

/** Storage that outlives a session tree: a principal's, for all of its sessions, or the whole deployment's. */
export type ScopedStorage = ReturnType<typeof createScopedStorage>

/** The objects with plugin storage beyond a session. */
export interface ScopedStorageOptions {
  readonly principals: Namespace
  readonly services: Namespace
  readonly sha256: (text: string) => string
}

/** Each plugin has its own space in an object, whose name it cannot choose. */
export const spaceOf = (plugin: string): string => `plugin:${plugin}`

/** Storage of plugins in the objects of principals and of plugins. Rejects as the call to the object does. */
export function createScopedStorage({ principals, services, sha256 }: ScopedStorageOptions) {
  // A stub whose object was reset stays broken: each request takes a new one.
  const ofPrincipal = (principal: string): AskStorage => {
    const name = sha256(lengthPrefixed(principalParts(principal)))
    return (request) => (principals.getByName(name) as PrincipalApi).storage(request)
  }
  const ofPlugin = (plugin: string): AskStorage => {
    const name = sha256(lengthPrefixed(pluginServiceParts(plugin)))
    return (request) => (services.getByName(name) as PluginServiceApi).storage(request)
  }
  return {
    ofPrincipal,
    /** An object of its own for each plugin. */
    ofPlugin,
    /** Deletes all values of a plugin for the deployment and for these principals. A repeated call changes nothing. */
    async clear(plugin: string, of: readonly string[]): Promise<void> {
      const all = [ofPlugin(plugin), ...of.map(ofPrincipal)]
      for (const ask of all) await ask({ verb: 'clear', space: spaceOf(plugin) })
    },
  }
}
