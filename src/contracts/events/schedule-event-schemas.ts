import { number, text } from '../event-fields.ts'
import { deploymentKind as kind } from '../event-kind.ts'

const aSchedule = {
  schedule: text.describe('its id'),
  owner: text.describe('whose object keeps it: `principal:<name>`, `plugin:<id>` or `agent:<id>`'),
  name: text,
}

/** Events about schedules, besides the events of their runs. */
export const scheduleEventSchemas = {
  schedule_added: kind('A schedule was made.', aSchedule),
  schedule_changed: kind('A schedule was changed.', {
    ...aSchedule,
    reason: text.exactOptional().describe('the names of the changed fields'),
  }),
  schedule_paused: kind('A schedule was paused, or stopped by itself after failures.', {
    ...aSchedule,
    reason: text.exactOptional(),
  }),
  schedule_resumed: kind('A schedule goes on.', aSchedule),
  schedule_removed: kind('A schedule was taken away.', aSchedule),
  subscription_stopped: kind(
    'An event began no run, for this reason: the first of it within an hour.',
    {
      ...aSchedule,
      event: text.describe('its id: the session and the place in its log'),
      eventName: text,
      depth: number.describe('how many runs events had begun one after the other'),
      reason: text,
    },
  ),
  schedule_missed: kind('Slots of a schedule that were not fired in time and are not caught up.', {
    schedule: text,
    owner: text.describe('whose object keeps it'),
    count: number,
    fromMs: number.describe('the first of them, epoch milliseconds'),
    toMs: number.describe('the last of them'),
    reason: text.describe('of the first of them'),
  }),
} as const
