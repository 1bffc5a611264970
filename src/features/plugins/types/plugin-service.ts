import type { ScheduleApi } from '#runtime/session/types/schedule-object.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'

/** The RPC interface of a `PluginService` object. */
export interface PluginServiceApi extends ScheduleApi {
  readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
}
