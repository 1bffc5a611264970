import type { StorageAnswer, StorageRequest } from './space.ts'

/** What a `PluginService` object answers over RPC. */
export interface PluginServiceApi {
  readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
}
