import * as z from 'zod'
import { number, text } from './event-fields.ts'
import { deploymentKind as kind } from './event-kind.ts'

/** What becomes of long-term memory outside of runs, and of somebody who is erased from everything. */
export const memoryEventSchemas = {
  memory_changed: kind(
    'What is remembered was changed by somebody, not by an agent. No note is on the record.',
    {
      owner: text.describe('the principal whose it is'),
      change: text.describe('`added`, `edited` or `forgotten`'),
      scope: text.exactOptional().describe('absent: all of them'),
      count: number.describe('of notes'),
      request: text.exactOptional().describe('the id of the request; absent if it had none'),
    },
  ),
  person_erased: kind('Somebody is erased from everywhere. Who it was is not told.', {
    owner: text.describe('the pseudonym that the record has for them'),
    step: z.enum(['asked', 'done']),
    request: text.exactOptional().describe('the id of the request; absent if it had none'),
  }),
} as const
