import { errorCode, errorMessage } from '#contracts/errors.ts'
import { toBytes } from '#runtime/catalog/types/permit.ts'
import { ToolError, type PluginStorage } from '#features/plugins/types/plugin.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'
import { jsonSizeBytes, toJson } from '../../sandbox/json-border.ts'

const maxKeyChars = 512
const maxValueBytes = 1024 * 1024
const maxListed = 1_000

/** Runs one storage verb in the object that owns the values. */
export type AskStorage = (request: StorageRequest) => Promise<StorageAnswer>

/** A space in an object's storage, and its limit in bytes. */
export interface GrantedSpace {
  readonly space: string
  readonly quotaBytes: number
  readonly ask: AskStorage
}

/** `512kb` or `1mb` in bytes. */
export function parseQuotaBytes(quota = '1mb'): number {
  return toBytes(quota)
}

/** Named values in one space of an object. Arguments come from plugin code, so all of them are checked. */
export function createGrantedStorage({ space, quotaBytes, ask }: GrantedSpace): PluginStorage {
  return {
    get: async (key) => {
      const { found, value } = await ask({ verb: 'get', space, key: parseKey(key) })
      return found === false ? undefined : value
    },
    set: async (key, value) => {
      const json = toJson(value)
      if (jsonSizeBytes(json) > maxValueBytes)
        throw invalid('A value may have at most 1 MiB as JSON.')
      await ask({ verb: 'set', space, key: parseKey(key), value: json, quotaBytes })
    },
    delete: async (key) =>
      (await ask({ verb: 'delete', space, key: parseKey(key) })).found ?? false,
    list: async ({ prefix = '', limit = 100 } = {}) => {
      if (typeof prefix !== 'string' || prefix.length > maxKeyChars)
        throw invalid('A prefix is a short string.')
      if (!Number.isInteger(limit) || limit < 1) throw invalid('A limit is a whole number from 1.')
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
      const isExpected = errorCode(error)?.startsWith('tool_') ?? false
      throw new ToolError('tool_failed', {
        message: isExpected ? errorMessage(error) : 'The storage did not answer.',
        transient: !isExpected,
      })
    })
    if (answer.error === undefined) return answer
    throw invalid(answer.error)
  }
}

function invalid(message: string): ToolError {
  return new ToolError('tool_failed', { message })
}

function parseKey(key: unknown): string {
  if (typeof key === 'string' && key.length > 0 && key.length <= maxKeyChars) return key
  throw invalid(`A key is a string of 1 to ${maxKeyChars} characters.`)
}
