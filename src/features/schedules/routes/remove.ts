import { refuseOfText } from '../types/schedule-keeper.ts'
import type { ScheduleVerbs } from '#runtime/session/types/schedule-object.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { changer, onSchedule, type Kind, type ScheduleDeps } from '#runtime/session/requests/own.ts'

/** Removes a schedule that a caller made; schedules of manifests and agents are removed with their text. */
export const removeSchedule = (
  { schedules }: ScheduleDeps,
  request: RequestContext,
  kind: Kind,
): Promise<ScheduleVerbs['remove']['answer']> =>
  onSchedule(
    { schedules },
    request,
    async ({ keeper, ...asked }) => {
      refuseOfText(await schedules.ask(keeper, 'show', asked))
      return schedules.ask(keeper, 'remove', { ...asked, by: changer(request.by()) })
    },
    kind,
  )
