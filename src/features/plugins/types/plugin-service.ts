import type { ScheduleApi } from '#runtime/session/types/schedule-object.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'
import type { SharedFrom, SharedPart } from '#contracts/manifest/agent-manifest.ts'

/** The parts of the name of a plugin's object. */
export const pluginServiceParts = (plugin: string): readonly string[] => ['plugin-service', plugin]

/** A session, and the session whose parts it shares. */
export interface Sharing {
  readonly session: string
  readonly shared?: SharedFrom | undefined
}

/** The session that owns a shared part. */
export const keeperOf = (part: SharedPart, { session, shared }: Sharing): string =>
  shared?.[part] ?? session

/** The RPC interface of a `PluginService` object. */
export interface PluginServiceApi extends ScheduleApi {
  readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
}
