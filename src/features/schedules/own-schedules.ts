import { errorCode, IsolaError } from '#contracts/errors.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import type { Sources } from '#contracts/sources.ts'
import type { Schedule } from '#runtime/session/types/schedule.ts'

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

/** A schedule from a manifest or an agent's definition would return at the next sync: it is changed in that text. */
export function refuseOfText({ owner }: Schedule): void {
  if (owner.startsWith('principal:')) return
  const id = owner.slice(owner.indexOf(':') + 1)
  const how = owner.startsWith('agent:')
    ? 'isola agent add'
    : `isola plugin add, or isola plugin disable ${id}`
  const message = `id: is what ${owner} schedules in its own text: change that one (${how}), or pause this.`
  throw new IsolaError('request_invalid', message, { param: 'id' })
}
