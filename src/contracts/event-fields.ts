import * as z from 'zod'
import { approvalRequestSchema, approvalScope, decidedBySchema } from './approval.ts'
import type { Json, JsonObject } from './json.ts'
import { labelSchema } from './label.ts'
import type { Message } from './message.ts'
import { platformUnits, type PlatformUnit } from './platform.ts'

interface Parts<Told extends z.core.$ZodLooseShape, Inside extends z.core.$ZodLooseShape> {
  readonly told?: Told
  readonly inside?: Inside
}

type NoFields = Record<never, never>
type With<Fields, More> = Omit<Fields, keyof More> & More

/**
 * A kind of event: when it is written, its stored fields, and the fields that only readers of the session, or only
 * the record, get.
 */
export const kind = <
  Data extends z.core.$ZodLooseShape,
  Told extends z.core.$ZodLooseShape = NoFields,
  Inside extends z.core.$ZodLooseShape = NoFields,
>(
  when: string,
  data: Data,
  { told, inside }: Parts<Told, Inside> = {},
) => ({
  data: z.object({ ...data, ...inside } as unknown as With<Data, Inside>).describe(when),
  told: z.object({ ...data, ...told } as unknown as With<Data, Told>).describe(when),
})

/** A deployment event: readers and the record get the same fields. */
export const deploymentKind = <Data extends z.core.$ZodLooseShape>(when: string, data: Data) =>
  z.object(data).describe(when)

/** Fields that several kinds of events share. */
export const text = z.string()
export const number = z.number()
export const flag = z.boolean()
export const texts = z.array(text).readonly()
export const call = text.describe('the tool call')
/** The request that led to a deployment event. */
export const request = {
  request: text.exactOptional().describe('the id of the request; absent if it had none'),
}
export const ownerOf = text.describe('the principal whose it is')
export const durationMs = number.describe('milliseconds')
export const model = { provider: text, model: text }

export const json = (z.json() as z.ZodType<Json>).meta({ title: 'JSON' })
export const jsonObject = (z.record(text, z.json()) as z.ZodType<JsonObject>).meta({
  title: 'object',
})
export const failure = z.object({ code: text, message: text, transient: flag.exactOptional() })
export const state = z.enum(['completed', 'stopped', 'failed', 'cancelled'])
export const costNanoUsd = number.describe('billionths of a US dollar')

/** `PlatformAmounts`: an absent amount is zero. */
const platform = z.object(
  Object.fromEntries(platformUnits.map((unit) => [unit, number.exactOptional()])) as Record<
    PlatformUnit,
    z.ZodExactOptional<typeof number>
  >,
)

export const toldPlatform = platform
  .exactOptional()
  .describe('what the platform was made to do for the run itself since this was last told')

export const usage = z.object({
  tokens: number,
  costNanoUsd,
  turns: number,
  toolCalls: number,
  children: number,
  inputTokens: number,
  outputTokens: number,
  modelCalls: number,
  unconfirmed: z
    .object({ tokens: number, costNanoUsd })
    .exactOptional()
    .describe('of `tokens` and `costNanoUsd`: failed attempts that may have reached a provider'),
  timeMs: number,
  platform: platform.exactOptional(),
  platformNanoUsd: number.exactOptional(),
})

/** Who can have written a value, and who may read it. */
export const label = labelSchema.meta({ id: 'Label' })

/** The result of a run, as `AgentResult` has it. */
export const runResult = z
  .object({
    id: text,
    success: flag,
    state,
    result: text,
    finishReason: z.enum(['length', 'content_filter']).exactOptional(),
    output: jsonObject.exactOptional(),
    error: z.object({ code: text, message: text }).exactOptional(),
    label: label.exactOptional(),
    startedAtMs: number,
    finishedAtMs: number,
    sessionId: text,
    agent: text,
    trace: text,
    steps: number,
    actions: z
      .array(
        z.object({
          callId: text,
          tool: text,
          ok: flag,
          code: text.exactOptional(),
          durationMs: number,
        }),
      )
      .readonly(),
    modelCalls: z
      .array(z.object({ ...model, inputTokens: number, outputTokens: number, costNanoUsd }))
      .readonly(),
    usage,
    costEstimateUsd: number,
    provenance: z.object({ template: text, version: text, models: z.array(text).readonly() }),
  })
  .meta({ title: 'result of a run' })

const isMessage = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'role' in value

/** A type of its own, of which an event is not the place. */
export const message = z.custom<Message>(isMessage).meta({ title: 'message' })

/** The owner of the tool: copied from its entry, for people who read the record. */
export const owner = {
  plugin: text
    .exactOptional()
    .describe('`isola` for the core, `client` for a tool that the client runs'),
  version: text.exactOptional(),
  tier: z.enum(['builtin', 'trusted', 'community', 'mcp']).exactOptional(),
  server: text.exactOptional().describe('the MCP server whose tool it is'),
}

/** Which hook said it, where it was not a tool. */
export const inHook = {
  plugin: text.exactOptional().describe('whose hook said it'),
  hook: text.exactOptional().describe('the point at which it was asked'),
}

/** Set if the code of this call asked, and not the agent. */
export const ofCall = {
  call: text.exactOptional().describe('the call whose code asked; absent if it was the agent'),
}

const limitName = z.enum([
  'maxTokens',
  'maxCostNanoUsd',
  'maxPlatformNanoUsd',
  'maxTimeMs',
  'maxTurns',
  'maxToolCalls',
  'maxChildren',
  'maxDepth',
  'maxConcurrency',
])
const leaseCode = z.enum([
  'lease_tokens',
  'lease_cost',
  'lease_time',
  'lease_turns',
  'lease_tool_calls',
  'lease_children',
  'lease_depth',
  'lease_platform',
  'loop_suspected',
])

/** The limit that was reached, the amounts spent by each call, and the need of the next step. */
export const limitReached = {
  code: leaseCode,
  limit: limitName.exactOptional().describe('absent for a suspected loop'),
  allowed: number.exactOptional().describe('the limit in force'),
  of: z
    .enum(['agent', 'request', 'session', 'run', 'day', 'caller'])
    .exactOptional()
    .describe(
      'whose limit it is: `run` was set for the run since, `day` is what its principal’s day had left',
    ),
  spent: number.exactOptional().describe('by the run and everything below it'),
  needed: number.exactOptional().describe('the least limit with which it may go on'),
  own: number.exactOptional().describe('of `spent`, by the run itself'),
  calls: z
    .array(z.object({ call: text, tool: text, spent: number }))
    .readonly()
    .exactOptional()
    .describe('of `spent`, by what its calls began'),
  message: text,
}

export const pauseKind = z.enum(['approval', 'question', 'client_tool', 'session', 'budget'])
/** The principal that decided about a call that waited for an approval. */
const decider = decidedBySchema.describe(
  'who decided about a call that waited for a yes, and where it was said',
)
/** The outcome of a call that waited, and the author of the answer. */
export const answeredBy = {
  answer: text.describe('`approved`, `answered`, or the code of the failure'),
  by: text.optional().describe('who gave it, if not the owner of the session'),
  decidedBy: decider.optional(),
  scope: approvalScope
    .optional()
    .describe(
      'the reach of an approval: this call, similar calls of the session too, or a rule for the whole principal',
    ),
  rule: text.optional().describe('the id of the rule that it made'),
}
/** The rule of an earlier approval that covers the call. */
export const heldByRule = {
  call,
  tool: text,
  rule: text.describe('the id of the rule'),
  scope: approvalScope.exactOptional().describe('`session` or `rule`: where it holds'),
  decidedBy: decider,
}
/** The calls that a run waits for. */
export const waitingCalls = z
  .array(
    z.object({
      call,
      tool: text,
      kind: pauseKind,
      label: label.optional(),
      approval: approvalRequestSchema.optional(),
    }),
  )
  .readonly()
  .describe(
    'the calls that wait, with the label of the texts read before; for an approval also the approver and the reason',
  )
export const verdict = z.enum(['failed', 'vetoed', 'changed', 'allow'])
/** The verdicts of a hook on calls. */
export const callsOfHook = z
  .array(z.object({ call, verdict }))
  .readonly()
  .exactOptional()
  .describe('calls that the policy did not simply allow')

export const turn = number.describe('counts from 1 within the run')

export const modelRequest = {
  ...ofCall,
  turn: number.exactOptional().describe('absent if a call asked'),
  request: number.exactOptional().describe('counts from 1 within the turn; absent if a call asked'),
  ...owner,
  ...model,
}

/** The fields of every event of a tool call. */
export const toolCall = {
  call,
  tool: text,
  parent: text.exactOptional().describe('the call whose code made this one'),
  ...owner,
}

/** The outcome of a compaction, as in `CompactionReport`. */
export const compaction = {
  reason: z
    .enum(['start', 'budget', 'context_error', 'requested'])
    .describe(
      'it passed the share at which it begins; the run’s budget takes no more; the model ' +
        'service refused it; a caller asked for it',
    ),
  stage: z
    .enum(['results', 'summary'])
    .describe('old results of tools behind handles, or a summary of everything old'),
  by: z.enum(['model', 'rule', 'provider']).exactOptional().describe('who made the summary'),
  chosenBy: text.exactOptional().describe('the plugin that chose what leaves'),
  notChosen: text
    .exactOptional()
    .describe('why what the plugin chose did not count; it was chosen as without one'),
  refused: text.exactOptional().describe('why no model made it'),
  tokensBefore: number.describe('estimated input of the call, tools included'),
  tokensAfter: number,
  targetTokens: number,
  roomTokens: number.describe('what a call may have as input'),
  left: z.object({
    results: number.describe('results of tools behind a handle now'),
    messages: number.describe('messages that the summary stands for'),
    notKept: number.describe('messages of both that only the transcript has'),
  }),
  stayed: z.object({
    messages: number,
    lastTurns: number,
    decisions: number,
    openCalls: number,
    ids: number,
  }),
  unpinned: z
    .array(
      z.enum([
        'last_turn_results',
        'last_turns',
        'decisions',
        'goal',
        'newest_results',
        'open_calls',
        'ids',
        'archives',
      ]),
    )
    .readonly()
    .describe('parts that should have stayed and were given up'),
  tokens: number.describe('spent on the summary'),
  costNanoUsd,
  callCostNanoUsd: z
    .object({ before: number, after: number })
    .exactOptional()
    .describe('what the input of a call costs, if a price is known'),
}
