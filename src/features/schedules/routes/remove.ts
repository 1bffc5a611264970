import { refuseOfText } from '../types/schedule-keeper.ts'
import type { ScheduleVerbs } from '#runtime/session/types/schedule-object.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { changer, onSchedule } from './own.ts'

/** Removes one that somebody made by hand. */
export const removeSchedule = (
  deps: HttpDeps,
  context: HttpContext,
  kind: 'schedule' | 'subscription',
): Promise<ScheduleVerbs['remove']['answer']> =>
  onSchedule(
    deps,
    context,
    async ({ keeper, ...asked }) => {
      refuseOfText(await deps.schedules.ask(keeper, 'show', asked))
      const by = changer(deps, context)
      return deps.schedules.ask(keeper, 'remove', { ...asked, by })
    },
    kind,
  )
