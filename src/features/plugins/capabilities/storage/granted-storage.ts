import { errorCode } from '#contracts/errors.ts'
import { toBytes } from '#runtime/catalog/types/permit.ts'
import type { PluginStorage } from '#features/plugins/types/plugin.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'
import { jsonSizeBytes, toJson } from '../../sandbox/json-border.ts'
import { failed, safeError } from '../../types/plugin-output.ts'

const maxKeyChars = 512
const maxValueBytes = 1024 * 1024
const maxListed = 1_000

/** Runs one storage verb in the object that owns the values. */
export type AskStorage = (request: StorageRequest) => Promise<StorageAnswer>

/**
 * Named values in one space of an object. Arguments come from plugin code, so all of them are checked.
 *
 * @param quota Limit of the space: `512kb` or `1mb`.
 */
export function createGrantedStorage(space: string, ask: AskStorage, quota = '1mb'): PluginStorage {
  const quotaBytes = toBytes(quota)
  return {
    get: async (key) => {
      const { found, value } = await ask({ verb: 'get', space, key: parseKey(key) })
      return found === false ? undefined : value
    },
    set: async (key, value) => {
      const json = toJson(value)
      if (jsonSizeBytes(json) > maxValueBytes)
        throw failed('A value may have at most 1 MiB as JSON.')
      await ask({ verb: 'set', space, key: parseKey(key), value: json, quotaBytes })
    },
    delete: async (key) =>
      (await ask({ verb: 'delete', space, key: parseKey(key) })).found ?? false,
    list: async ({ prefix = '', limit = 100 } = {}) => {
      if (typeof prefix !== 'string' || prefix.length > maxKeyChars)
        throw failed('A prefix is a short string.')
      if (!Number.isInteger(limit) || limit < 1) throw failed('A limit is a whole number from 1.')
      return (
        (await ask({ verb: 'list', space, prefix, limit: Math.min(limit, maxListed) })).keys ?? []
      )
    },
  }
}

/** Storage faults for a plugin: a refusal (quota, size) keeps its reason; other faults get a general message. */
export function withSafeErrors(ask: AskStorage): AskStorage {
  return async (request) => {
    const answer = await ask(request).catch((error: unknown) => {
      const isKnown = errorCode(error)?.startsWith('tool_') ?? false
      throw safeError(error, { isKnown, otherwise: 'The storage did not answer.' })
    })
    if (answer.error === undefined) return answer
    throw failed(answer.error)
  }
}

function parseKey(key: unknown): string {
  if (typeof key === 'string' && key.length > 0 && key.length <= maxKeyChars) return key
  throw failed(`A key is a string of 1 to ${maxKeyChars} characters.`)
}
