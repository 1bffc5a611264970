import { DurableObject } from 'cloudflare:workers'
import type { PluginServiceApi } from '#contracts/plugin-service.ts'
import type { Space, StorageAnswer, StorageRequest } from '#contracts/space.ts'

/** What the object of a plugin takes from outside. */
export interface PluginServiceRuntime {
  readonly createSpace: (storage: DurableObjectStorage) => Space
}

/** The class behind the `PLUGIN_SERVICE` binding: one object a plugin, with what it keeps for the whole deployment. */
export function createPluginServiceClass(runtimeOf: () => PluginServiceRuntime) {
  return class extends DurableObject<Env> implements PluginServiceApi {
    readonly #space = runtimeOf().createSpace(this.ctx.storage)

    async storage(request: StorageRequest): Promise<StorageAnswer> {
      return this.#space(request)
    }
  }
}
