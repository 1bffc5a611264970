import * as z from 'zod'
import { costNanoUsd, number, text } from '../event-fields.ts'
import { kind } from '../event-kind.ts'

const floor = {
  floor: text.describe('the run in which it was taken'),
  holder: text.describe('the tool that has the conversation'),
}

/** Events about handoffs. */
export const floorEventSchemas = {
  floor_taken: kind(
    'A tool has the conversation from here on: the messages that come next are passed on to it.',
    {
      ...floor,
      maxMessages: number,
      maxTokens: number,
      maxCostNanoUsd: number.exactOptional(),
      timeoutMs: number.describe('so long after its last message it ends'),
    },
  ),
  floor_ended: kind(
    'The conversation is back with the session’s own agent; told once of each `floor_taken`.',
    {
      ...floor,
      reason: z.enum([
        'returned',
        'limit',
        'timeout',
        'failed',
        'monitor',
        'user',
        'operator',
        'revoked',
        'gone',
      ]),
      by: text.exactOptional().describe('the operator who took it back'),
      messages: number.describe('how many it answered, and what they took with everything below'),
      tokens: number,
      costNanoUsd,
    },
  ),
} as const
