import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { toLimits, type AgentManifest } from '#runtime/catalog/types/permit.ts'
import { joinLabels, ownLabel } from '#contracts/label.ts'
import { errorMessage } from '#contracts/errors.ts'
import type { FloorTerms } from '#contracts/floor.ts'
import { toHolderResult } from '#runtime/session/types/floor.ts'
import type { JsonObject, JsonSchema } from '#contracts/json.ts'
import { zeroUsage, type Usage } from '#contracts/lease.ts'
import type { Manifest, TrustTier } from '#contracts/manifest/manifest.ts'
import { toldLabelOf } from '#features/plugins/types/manifest.ts'
import type { SubAgentStopped } from '#runtime/kernel/types/policy.ts'
import type { RunOutcome } from '#runtime/session/types/session-view.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { SubmitReceipt } from '#runtime/session/types/submission.ts'
import type { SubmitAs } from '#runtime/session/types/session-entry.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolContext, ToolEntry, ToolFailure, ToolResult } from '#contracts/tool.ts'
import {
  available,
  cancelOnAbort,
  maxReasonChars,
  reattaching,
  floorOf,
  runAloud,
  submitTo,
} from './sub-agent-reach.ts'

/** The child's own time limit fires first, so that its result reports the work done. */
const timeoutGraceMs = 5_000

export interface SubAgentOptions {
  readonly manifest: Manifest
  readonly agent: AgentManifest
  readonly hash: string
  readonly tier: TrustTier
  /** An operator has read the texts that its plugin shows to models. */
  readonly isTold?: boolean | undefined
  readonly sessions: SessionGateway
  readonly submitAs: SubmitAs
  readonly clock: Clock
  /** Hears the outcome before the caller does; the caller waits for it. */
  readonly onStopped?: SubAgentStopped | undefined
}

/** The name of an agent's tool. */
export function agentToolName(plugin: string): string {
  return `${plugin}__run`
}

/** The input of an agent that takes the conversation: such an agent cannot work in the background. */
const handoffSchema: JsonSchema = {
  type: 'object',
  properties: {
    task: {
      type: 'string',
      minLength: 1,
      description: 'What the user wants, complete: it has seen nothing of the conversation so far.',
    },
  },
  required: ['task'],
  additionalProperties: false,
}

const inputSchema: JsonSchema = {
  type: 'object',
  properties: {
    task: {
      type: 'string',
      minLength: 1,
      description: 'What is to be done, complete: the agent sees nothing else of the conversation.',
    },
    context: {
      type: 'string',
      description: 'Material for the task, such as a file or earlier findings.',
    },
    background: {
      type: 'boolean',
      description: 'Start it and go on; what comes of it arrives as a message later.',
    },
    onOutcome: {
      type: 'string',
      enum: ['note', 'run'],
      description:
        'With background, if you are done by then: "note" (default) leaves it for whoever ' +
        'asks you next, "run" has you work on with it.',
    },
  },
  required: ['task'],
  additionalProperties: false,
}

/**
 * An agent as a tool: each call runs a session of its own to completion (Y8, N1, N13).
 *
 * A call may run again after a cut: the child's id and idempotency key follow from the call, so it finds its run.
 */
export function createSubAgentEntry(options: SubAgentOptions): ToolEntry {
  const { manifest, agent, hash } = options
  const name = agentToolName(manifest.id)
  const limits = toLimits(agent.limits)
  const isHandoff = agent.integration_mode === 'handoff'
  return {
    tool: {
      name,
      description: [
        manifest.description,
        manifest.natural_language_description?.trim(),
        isHandoff && 'It takes over the conversation, and the user talks to it until it is done.',
      ]
        .filter(Boolean)
        .join('\n'),
      inputSchema: isHandoff ? handoffSchema : inputSchema,
      execute: (input, context) => callAgent(options, input, context),
    },
    isReadOnly: false,
    isIdempotent: true,
    // The agent's own calls pass the gates of its own session, which begins with the caller's label.
    sinks: [],
    yields: ownLabel,
    timeoutMs: limits.maxTimeMs + timeoutGraceMs,
    spends: limits,
    ...(agent.uses_tools.length > 0 && limits.maxToolCalls > 0 && { callsTools: true }),
    agent: manifest.id,
    definitionHash: `${hash}:${name}`,
    ...toldLabelOf(options, name),
    record: { plugin: manifest.id, version: manifest.version, tier: options.tier },
  }
}

async function callAgent(
  { manifest, agent: declared, sessions, submitAs, clock, onStopped }: SubAgentOptions,
  input: JsonObject,
  context: ToolContext,
): Promise<ToolResult> {
  const agent = manifest.id
  if (context.ancestry.includes(agent)) {
    return failed(
      'tool_denied',
      `The agent ${agent} is already at work above this call and cannot be called again from here.`,
      zeroUsage,
    )
  }
  const problem = outcomeProblem(input, context)
  if (problem) return problem
  // Its outcome would go to a call that has ended and that the session does not know.
  if (input['background'] === true && context.parent !== undefined) {
    const message =
      'A call that another tool makes cannot work in the background: leave "background" out.'
    return failed('tool_denied', message, zeroUsage)
  }
  const own = await sessions.idFor('child', [context.session, context.run, context.call])
  const { session, ...floor } = floorOf(declared, own, context)
  if (context.signal.aborted) {
    return failed('tool_cancelled', `The call of ${agent} was cancelled.`, zeroUsage)
  }
  const isBackground = input['background'] === true
  const where = { agent, session, context }
  const { onOutcome } = input
  const data = {
    call: context.call,
    agent,
    session,
    ...(isBackground && { background: true as const }),
    ...(onOutcome !== undefined && { onOutcome: String(onOutcome) }),
  }
  context.emit({ type: 'agent_invoked', data })
  // A new stub for each attempt: a broken one stays broken.
  const { shares } = declared
  const child = () => submitTo({ agent, session, shares, submitAs, ...floor }, input, context)
  const again = <T>(attempt: () => Promise<ObjectReply<T>>) =>
    reattaching(async () => available(await attempt()), clock, context.signal)
  const stopCancelling = cancelOnAbort(sessions, where, (message) =>
    emitError(where, 'cancel_failed', message),
  )
  try {
    return isBackground
      ? leave(await again(() => child().submit()), where)
      : await settle(
          await again(() => runAloud(child(), context.say)),
          { ...where, ...floor },
          onStopped,
        )
  } catch (error) {
    const detail = headOf(errorMessage(error), maxReasonChars)
    const data = { call: context.call, agent, session, code: 'tool_outcome_unknown', detail }
    context.emit({ type: 'agent_error', data })
    return failed(
      'tool_outcome_unknown',
      `The agent ${agent} could not be reached; what it did is not known.`,
    )
  } finally {
    stopCancelling()
  }
}

function outcomeProblem(
  { background, onOutcome }: JsonObject,
  { depth }: ToolContext,
): ToolResult | undefined {
  if (onOutcome !== undefined && background !== true) {
    const message =
      '"onOutcome" goes with "background": true; without it the outcome is the answer.'
    return failed('tool_invalid_input', message, zeroUsage)
  }
  if (onOutcome !== 'run' || depth === 0) return undefined
  const message =
    'You work for another agent, and begin no run when you are done: leave "onOutcome" out.'
  return failed('tool_denied', message, zeroUsage)
}

interface Where {
  readonly agent: string
  readonly session: string
  readonly context: ToolContext
  readonly holds?: FloorTerms
}

function emitError({ agent, session, context }: Where, code: string, message: string): void {
  context.emit({ type: 'agent_error', data: { call: context.call, agent, session, code, message } })
}

function failed(code: ToolFailure['code'], message: string, usage?: Usage): ToolResult {
  return { ok: false, error: { code, message }, ...defined({ usage }) }
}

function refused(reply: ObjectReply<unknown> & { readonly ok: false }, where: Where): ToolResult {
  emitError(where, reply.error.code, reply.error.message)
  const message = `The agent ${where.agent} did not start: ${reply.error.message}`
  // Another run has this call's key. It may spend, so the whole lease is booked.
  const isThere = reply.error.code === 'request_idempotency_mismatch'
  return failed('tool_failed', message, isThere ? undefined : zeroUsage)
}

/** Leaves the agent at work with its whole lease; the outcome returns the unused rest. */
function leave(reply: ObjectReply<SubmitReceipt>, where: Where): ToolResult {
  if (!reply.ok) return refused(reply, where)
  const { session, run } = reply.value
  const text = 'It works in the background. What comes of it arrives as a message.'
  return { ok: true, output: { status: 'started', session, run, note: text } }
}

async function settle(
  reply: ObjectReply<RunOutcome>,
  where: Where,
  onStopped: SubAgentStopped | undefined,
): Promise<ToolResult> {
  if (!reply.ok) return refused(reply, where)
  const result = reply.value
  const { agent, session, context, holds } = where
  if (result.state === 'parked') {
    const message = `The agent ${agent} waits for someone to decide or answer.`
    const pause = { kind: 'session', expires: false } as const
    return { ok: false, error: { code: 'tool_pending', message }, pause }
  }
  const { usage, state, costEstimateUsd, error } = result
  context.emit({
    type: 'agent_result',
    data: {
      call: context.call,
      agent,
      session,
      state,
      usage: { ...usage },
      costEstimateUsd,
      ...(error && { error: { ...error } }),
    },
  })
  // A call that was cancelled meanwhile must report its usage at once.
  const outcome = toHolderResult(result, holds ? { holds } : {})
  if (onStopped && !context.signal.aborted)
    await onStopped(
      { agent, child: session, state, ...defined({ error }), text: result.result },
      { ...context, label: joinLabels([context.label, outcome.label]) },
    )
  return outcome
}
