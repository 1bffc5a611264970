import * as z from 'zod'
import { number, text } from '../event-fields.ts'
import { deploymentKind as kind } from '../event-kind.ts'
import type { Json } from '../json.ts'
import { providerKinds } from '../provider.ts'

/** Events about long-term memory and documents outside of runs, and about the erasure of a person. */
export const memoryEventSchemas = {
  memory_changed: kind('A person changed notes or documents. Their texts are not on the record.', {
    owner: text.describe('the principal whose it is'),
    change: text.describe('`added`, `edited` or `forgotten`'),
    scope: text.exactOptional().describe('absent: all of them'),
    count: number.describe('of notes'),
    request: text.exactOptional().describe('the id of the request; absent if it had none'),
  }),
  knowledge_changed: kind(
    'Documents that agents look things up in were put or removed. Neither name nor text is on the record.',
    {
      owner: text.describe(
        'the principal that owns them, or that changed the notes of the deployment',
      ),
      change: text.describe('`added`, `changed` or `removed`'),
      scope: text.exactOptional().describe('absent: all of them'),
      count: number.describe('of documents'),
      request: text.exactOptional().describe('the id of the request; absent if it had none'),
    },
  ),
  provider_told: kind(
    'Code of a plugin that stands in for memory, knowledge or context asked or said something. The other fields are those of the event.',
    {
      plugin: text,
      provider: z.enum(providerKinds),
      event: text.describe('the kind of event, such as `network_requested`'),
      unrecorded: number
        .exactOptional()
        .describe('how many behind it were left out: 20 of a call are told'),
    },
  ).catchall(z.json() as z.ZodType<Json>),
  person_erased: kind('Somebody is erased from everywhere. Who it was is not told.', {
    owner: text.describe('the pseudonym that the record has for them'),
    step: z.enum(['asked', 'done']),
    request: text.exactOptional().describe('the id of the request; absent if it had none'),
  }),
} as const
