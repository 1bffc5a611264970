import { IsolaError } from '#contracts/errors.ts'
import type { Schedule } from '#runtime/session/types/schedule.ts'

/** A schedule from a manifest or an agent's definition would return at the next sync: it is changed in that text. */
export function refuseOfText({ owner }: Pick<Schedule, 'owner'>): void {
  if (owner.startsWith('principal:')) return
  const id = owner.slice(owner.indexOf(':') + 1)
  const how = owner.startsWith('agent:')
    ? 'isola agent add'
    : `isola plugin add, or isola plugin disable ${id}`
  const message = `id: is what ${owner} schedules in its own text: change that one (${how}), or pause this.`
  throw new IsolaError('request_invalid', message, { param: 'id' })
}
