import * as z from 'zod'
import {
  call,
  number,
  text,
  kind,
  costNanoUsd,
  compaction,
  answeredBy,
  durationMs,
  failure,
  flag,
  heldByRule,
  inHook,
  json,
  jsonObject,
  limitReached,
  message,
  model,
  modelRequest,
  ofCall,
  pauseKind,
  runResult,
  state,
  toldPlatform,
  toolCall,
  turn,
  usage,
  waitingCalls,
} from './event-fields.ts'
import { pluginEventSchemas } from './events/plugin-event-schemas.ts'

/** Events about a model's search for tools and skills, loaded skills, and skills it writes. */
const findingEventSchemas = {
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
        'best first, each query in turn; scores compare within a query. `matched`: words ' +
          'of the query that the tool has',
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

const floor = {
  floor: text.describe('the run in which it was taken'),
  holder: text.describe('the tool that has the conversation'),
}

/** Events about handoffs. */
const floorEventSchemas = {
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

const argsHash = text.describe('sha-256 of the arguments')
const child = { call, agent: text, session: text.describe('the session of the sub-agent') }

/**
 * The fields of each kind of session event, from which its type is inferred (`event.ts`) and docs/events.md is made.
 * The Worker carries none of it: the compiler checks the emitting code, and tests check stored events.
 *
 * `data` is what is stored, and on the audit record. `told` is what a reader of the session gets: texts, arguments and
 * results are added out of the row that the event is stored in, and `inside` is left out.
 */
export const eventSchemas = {
  run_started: kind('A run began to work. It is the first event of every run.', {
    principal: text,
    key: text.exactOptional().describe('the id of the API key, never the key'),
    origin: text
      .exactOptional()
      .describe(
        'the surface it came in by (`chat`, `responses`, `api`, `mcp`), also of what was begun below',
      ),
    persona: z
      .object({ name: text, hash: text.exactOptional() })
      .exactOptional()
      .describe(
        'whose voice it speaks with, and the sha-256 of its files; without one there was none of this name',
      ),
    depth: number.describe('0 for a run that a person began'),
    parentCall: text
      .exactOptional()
      .describe('the call that asked for it, where it is a sub-agent’s'),
    begunBy: z
      .object({ run: text, call: text, session: text, depth: number })
      .exactOptional()
      .describe('the background call whose outcome began it, where no person did'),
    cause: z
      .object({ event: text, depth: number })
      .exactOptional()
      .describe('the event that began it, or what it is below, and how many runs events had begun'),
  }),
  run_resumed: kind('An open turn was taken up again, after a crash or a pause.', {
    turn,
    lostCalls: number.describe('model requests that a crash may have cut, each charged in full'),
  }),
  run_parked: kind(
    'The run waits for a decision or an answer from outside. It is not over.',
    {
      pauses: waitingCalls,
      platform: toldPlatform,
    },
    { told: { turn } },
  ),
  run_steered: kind(
    'Something came in for the run while it worked, and its next model call sees it.',
    { turn },
    { told: { messages: z.array(message).readonly().describe('what came in') } },
  ),
  pause_answered: kind('A call that waited has its answer.', {
    call,
    tool: text,
    kind: pauseKind,
    argsHash,
    ...answeredBy,
  }),
  approval_held: kind(
    'A rule of an earlier approval let a call run that would have waited.',
    heldByRule,
  ),
  run_finished: kind(
    'The run is over. It is the last event of every run.',
    {
      state,
      turns: number,
      code: text.exactOptional(),
      message: text.exactOptional().describe('why it did not complete'),
      platform: toldPlatform,
    },
    {
      told: { result: runResult.nullable().describe('the result of the run (docs/api.md)') },
      inside: { detail: text.exactOptional().describe('what went wrong inside') },
    },
  ),
  message_finished: kind(
    'The agent has said something. Readers of the stream have its text in pieces already.',
    { turn },
    { told: { text: text.describe('all that it said in this turn') } },
  ),
  model_called: kind(
    'A model answered.',
    {
      ...modelRequest,
      requestedModel: text
        .exactOptional()
        .describe('the model that was asked for, if another model answered'),
      inputTokens: number,
      outputTokens: number,
      costNanoUsd,
      priced: flag.describe('whether a price is known'),
      estimated: flag.describe('whether the tokens were counted here, not by the provider'),
      reservedTokens: number,
      finishReason: text,
      firstTextMs: number
        .exactOptional()
        .describe('milliseconds to the first text, if it was streamed'),
      durationMs,
    },
    { told: { turn } },
  ),
  model_failed: kind(
    'A request to a model failed, or a crash may have cut it after it was sent (`code`: ' +
      '`lost`). There is one for each.',
    {
      ...modelRequest,
      code: text,
      bookedTokens: number.describe('what it may have cost, and is booked'),
      bookedCostNanoUsd: number,
      partialChars: number.exactOptional().describe('text that a reader saw and that is not kept'),
      durationMs,
    },
    { told: { turn } },
  ),
  model_substituted: kind('A request went to another model than the one asked for.', {
    ...ofCall,
    asked: text.describe('empty if no model was named'),
    ...model,
    passedOver: z
      .array(z.object({ ...model, reason: text }))
      .readonly()
      .exactOptional()
      .describe('which ones, and what each lacks'),
  }),
  context_compacted: kind(
    'What a model is sent had become too long: some of it is behind handles, or in a summary, from here on.',
    {
      turn,
      ...compaction,
    },
  ),
  tool_started: kind(
    'A call begins.',
    { ...toolCall, argsHash, inputChars: number, definitionHash: text },
    {
      told: {
        input: jsonObject.exactOptional().describe('the arguments; not of a call that code made'),
      },
    },
  ),
  tool_finished: kind(
    'A call has its one outcome. The calls of a turn are told in the order in which they were asked for.',
    {
      ...toolCall,
      ok: flag,
      code: text.exactOptional().describe('of the failure'),
      durationMs,
      outputChars: number,
      argsHash: argsHash.exactOptional().describe('sha-256 of the arguments that were run'),
      taint: z.array(text).readonly().describe('where the output came from'),
    },
    {
      told: {
        output: json.exactOptional().describe('what it returned; not of a call that code made'),
        error: failure.exactOptional().describe('what the model reads of a failure'),
      },
    },
  ),
  agent_invoked: kind('A sub-agent is asked; once more for the same call when a crash cut it.', {
    ...child,
    background: z.literal(true).exactOptional().describe('no call waits for it'),
    onOutcome: text.exactOptional().describe('`run` if its outcome is to begin a run'),
  }),
  agent_result: kind(
    'A sub-agent is done, and its caller has the outcome.',
    {
      ...child,
      state,
      usage,
      costEstimateUsd: number,
      error: failure.exactOptional(),
    },
    { told: { turn } },
  ),
  agent_error: kind(
    'A sub-agent could not be asked, reached or cancelled.',
    { ...child, code: text, message: text.exactOptional() },
    { inside: { detail: text.exactOptional().describe('what the platform said') } },
  ),
  lease_refused: kind('The budget did not allow a model request or a call.', {
    ...ofCall,
    code: text,
    asked: number.exactOptional(),
    left: number.exactOptional(),
  }),
  lease_overdrawn: kind('Something cost more than was reserved for it; it is booked in full.', {
    ...ofCall,
    tokens: number.exactOptional(),
    reserved: number.exactOptional(),
  }),
  budget_reached: kind(
    'A limit was reached, and the run is parked until the limit is raised: `run_parked` comes after it.',
    limitReached,
  ),
  budget_warning: kind('Four fifths of a limit are spent; told once of each limit.', {
    limit: text,
    allowed: number,
    spent: number,
  }),
  loop_suspected: kind(
    'The same calls with the same results came again and again, turn after turn or in one: the run is parked, or ends.',
    {
      calls: z.array(text).readonly().describe('the tools of one round, in order'),
      rounds: number.describe('how often in a row'),
    },
  ),
  ...floorEventSchemas,
  ...findingEventSchemas,
  tool_log: kind(
    'A tool or a hook logged something.',
    {
      call,
      message: text.exactOptional(),
      level: z
        .enum(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'])
        .exactOptional(),
      ...inHook,
    },
    {
      inside: {
        detail: text.exactOptional().describe('what a tool threw that no one should read'),
      },
    },
  ),
  tool_progress: kind('A tool says how far it is.', {
    call,
    message: text,
    progress: number.exactOptional(),
    total: number.exactOptional(),
    ...inHook,
  }),
  ...pluginEventSchemas,
  call_denied: kind('The policy did not allow a call; its `tool_finished` comes after it.', {
    call,
    tool: text,
    reason: text.describe(
      '`denied_by_rule`, `not_in_allow_list`, `host_not_allowed`, `destructive`, `label`, ' +
        '`over_rate`; `policy_unknown` and `rate_unknown` where it could not be asked',
    ),
    rule: text,
  }),
} as const
