import { errorCode } from '#contracts/errors.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import type { Sources } from '#contracts/sources.ts'

/**
 * The author, on the record, of changes that manifests cause: the operator, who allowed the schedule with the plugin.
 */
export const byOperator = { principal: 'operator', trace: '' } as const

/** The id of a schedule that follows from what it is of, so that it is made once. */
export const idFrom = (
  prefix: 'sch' | 'sub',
  parts: readonly string[],
  sha256: Sources['sha256'],
): string => `${prefix}_${sha256(lengthPrefixed(parts)).slice(0, 22)}`

/** The answer about a schedule; `undefined` where the schedule does not exist. */
export const ifThere = async <T>(asked: Promise<T>): Promise<T | undefined> =>
  asked.catch((error: unknown) => {
    if (errorCode(error) !== 'request_not_found') throw error
    return undefined
  })
