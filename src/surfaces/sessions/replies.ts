import * as z from 'zod'
import { contextPartKinds } from '#runtime/kernel/types/context.ts'
import { label as labelOfValue } from '#contracts/event-fields.ts'
import { imageDetails } from '#surfaces/openai/types.ts'
import { atMs, count, flag, json, object, text, usd } from '#platform/routes/shapes.ts'
import { runState, runView, usageSum } from '#runtime/session/requests/run-replies.ts'

export const listed = z
  .object({
    id: text,
    agent: text.nullable().describe('`null` until its first run says which.'),
    principal: text,
    createdAtMs: atMs,
    usedAtMs: atMs,
    runs: count,
    state: runState.nullable().describe('Of the last run; `null` before the first.'),
    isStateless: flag,
  })
  .meta({ id: 'SessionListing' })

export const floor = z
  .object({
    holder: text.describe('The tool that has the conversation.'),
    state: z.enum(['held', 'ended']),
    sinceMs: atMs,
    untilMs: atMs,
    messages: count.describe('That it answered, after the one that was handed over.'),
    maxMessages: count,
    tokens: count,
    maxTokens: count,
    costUsd: usd,
    reason: text.optional().describe('Why it ended.'),
    endedAtMs: atMs.optional(),
  })
  .meta({ id: 'Floor' })

const own = z.object({
  id: text,
  agent: text.describe('Empty until the first run says which.'),
  principal: text,
  createdAtMs: atMs,
  metadata: object.optional(),
  persona: text.optional().describe('What the orchestrator speaks as in it.'),
  trace: text.optional(),
  parent: z.object({ session: text, run: text, call: text }).optional(),
  runs: z.array(runView).describe('In accept order: all of them, or the last ones.'),
  earlier: text.optional().describe('There are earlier runs: send it as `before`.'),
  floor: floor.optional().describe('Who has the conversation, or had it last.'),
  usage: usageSum,
  costEstimateUsd: usd,
})

/** A session with those of its sub-agents. */
export interface SessionView extends z.infer<typeof own> {
  // Named, since declarations that are made of the schema cannot say what refers to itself.
  children: SessionView[]
  moreChildren?: string | undefined
}
export const session: z.ZodType<SessionView> = z
  .object({
    ...own.shape,
    get children() {
      return z.array(session).describe('The sessions of its sub-agents.')
    },
    moreChildren: text.optional().describe('Not all of them fit: send it as `fromChild`.'),
  })
  .meta({ id: 'Session' })

const taint = z.array(text).describe('Where it came from.')
const label = labelOfValue.optional().describe('Who can have written it, and who may read it.')
const image = z.object({
  url: text,
  detail: z.enum(imageDetails).optional().describe('How closely the model looks.'),
  offset: count
    .optional()
    .describe('How many characters of the text come before it; absent: all of them.'),
})
export const message = z
  .discriminatedUnion('role', [
    z.object({ role: z.literal('system'), text }),
    z.object({
      role: z.literal('user'),
      text,
      images: z.array(image).optional(),
      name: text.optional().describe('Which of several speakers said it.'),
      taint,
      label,
    }),
    z.object({
      role: z.literal('assistant'),
      text,
      name: text.optional(),
      toolCalls: z.array(z.object({ id: text, name: text, input: object })).optional(),
      by: text.optional().describe('The tool that had the conversation and said it.'),
      taint,
      label,
    }),
    z.object({
      role: z.literal('tool'),
      callId: text,
      name: text,
      output: json,
      isError: flag,
      decided: z.literal(true).optional().describe('A person allowed this call, or answered it.'),
      taint,
      label,
    }),
  ])
  .meta({ id: 'Message' })

export const contextView = z.object({
  session: text,
  agent: text,
  model: text.optional(),
  tokens: count,
  windowTokens: count.optional(),
  maxOutputTokens: count.optional(),
  startTokens: count.optional(),
  targetTokens: count.optional(),
  parts: z.array(z.object({ kind: z.enum(contextPartKinds), tokens: count, count })),
  saidMessages: count,
  costUsd: z.object({ input: usd, atMost: usd }).optional(),
})
