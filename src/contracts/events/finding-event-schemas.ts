import * as z from 'zod'
import { call, number, text } from '../event-fields.ts'
import { kind } from '../event-kind.ts'

/** Events about a model's search for tools and skills, loaded skills, and skills it writes. */
export const findingEventSchemas = {
  tools_found: kind('A model looked for tools, and these were named.', {
    call,
    found: z
      .array(
        z.object({
          tool: text,
          score: number.exactOptional(),
          matched: z.array(text).exactOptional(),
        }),
      )
      .describe(
        'best first, each query in turn; scores compare within a query. `matched`: words of the query that the tool has',
      ),
    skills: z.array(text).exactOptional().describe('named with them'),
    withheld: z
      .array(text)
      .exactOptional()
      .describe('fit as well, but the policy denies them to the caller: they were not named'),
    isPartial: z
      .literal(true)
      .exactOptional()
      .describe('not every tool could be searched: the hits are of tools that every run has'),
  }),
  skill_loaded: kind('A model was given the instructions of a skill, or one of its files.', {
    call,
    name: text,
    hash: text.describe('sha-256 of all files of the skill'),
    tier: z.enum(['builtin', 'trusted', 'community']),
    file: text.exactOptional().describe('absent for the instructions'),
    tokens: number.describe('of what it was given, as estimated'),
  }),
  skill_emitted: kind('An agent wrote a skill, which is kept as a draft for an operator.', {
    call,
    draft: text
      .exactOptional()
      .describe(
        'the same where it was nearly the same as one that is there; absent if that is another principal’s',
      ),
    name: text,
    hash: text.describe('sha-256 of all files of the skill'),
    redacted: number.describe('secrets that were taken out of it'),
  }),
} as const
