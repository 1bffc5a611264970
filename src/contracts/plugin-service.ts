import type { ScheduleApi } from './schedule-object.ts'
import type { StorageAnswer, StorageRequest } from './space.ts'

/** What a `PluginService` object answers over RPC. */
export interface PluginServiceApi extends ScheduleApi {
  readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
}
