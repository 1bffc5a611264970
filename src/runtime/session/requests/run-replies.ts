import * as z from 'zod'
import { label, limitReached, pauseKind, runResult, usage } from '#contracts/event-fields.ts'
import { approvalRequestSchema } from '#contracts/approval.ts'
import { atMs, count, flag, object, text } from '#platform/routes/shapes.ts'

export const usageSum = usage.meta({ id: 'Usage' })

/** `parked` waits for an answer from outside; the last four are final. */
export const runState = z
  .enum(['queued', 'running', 'parked', 'completed', 'stopped', 'failed', 'cancelled'])
  .meta({ id: 'RunState' })

/** A call that waits. */
export const pause = z
  .object({
    call: text,
    tool: text,
    kind: pauseKind,
    expires: flag,
    about: text.optional().describe('What somebody should see before deciding.'),
    label: label.optional().describe('Of what had been read before the call.'),
    approval: approvalRequestSchema
      .optional()
      .describe('Of a call that waits for a yes: whose, who asks, and why.'),
    spent: z
      .object({ tokens: count, costNanoUsd: count })
      .optional()
      .describe('Of a call that waits for a yes: by its run up to now.'),
    asks: z.record(text, object).optional().describe('What is asked, by key.'),
    asksHash: text.optional().describe('Names what is asked: an answer says which it is for.'),
    isReadOnly: flag
      .optional()
      .describe('Of what is asked: the call changes nothing. Else to accept it is a yes.'),
    reached: z.object(limitReached).optional().describe('The limit that it waits at.'),
    input: object.describe('The arguments as they would be run.'),
    argsHash: text.describe('sha-256 of them.'),
    definitionHash: text.describe('Of the tool as it was then.'),
    sinceMs: atMs,
    expiresAtMs: atMs.optional(),
    changes: count.optional(),
  })
  .meta({ id: 'Pause' })

/** A run as every reader sees it. */
export const runView = z
  .object({
    id: text,
    session: text,
    agent: text,
    state: runState,
    createdAtMs: atMs,
    begunBy: z
      .object({ run: text, call: text, session: text, depth: count })
      .optional()
      .describe('The background call whose outcome began it, where no person did.'),
    result: runResult
      .extend({ output: object.optional() })
      .meta({ id: 'RunResult' })
      .optional()
      .describe('Once it is over.'),
    pauses: z.array(pause).optional().describe('What it waits for, while it is parked.'),
  })
  .meta({ id: 'Run' })

/** The receipt of an accepted run. */
export const receipt = z
  .object({ session: text, run: text, createdAtMs: atMs })
  .meta({ id: 'RunReceipt' })

/** A row of the list of runs. */
export const runListing = z
  .object({
    id: text,
    session: text,
    agent: text,
    principal: text,
    state: runState,
    startedAtMs: atMs,
    usage: usageSum
      .optional()
      .describe('While it works only where it is the first of its session.'),
    links: z.object({ run: text, events: text, cancel: text }).describe('POST to `cancel`.'),
  })
  .meta({ id: 'RunListing' })
export type RunListing = z.infer<typeof runListing>
