import { callOf } from '#runtime/kernel/types/event.ts'
import type { EventType, SessionEvent } from '#contracts/event.ts'
import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { RunRecord } from '#runtime/session/types/telemetry.ts'
import { spanIdOf } from '#contracts/trace.ts'
import {
  type ContentOf,
  toSpanEvents,
  limitContent,
  newestParts,
  type TurnPart,
  type Attributes,
  type ModelRequestEvent,
  type Span,
} from './span.ts'

/** What the spans of a run may contain. */
export interface SpanOptions {
  /** Contents of messages as attributes; empty unless content is captured. */
  readonly content: ContentOf
}

/**
 * The spans of a run: the run, its turns, their model requests and tool calls. A pure function of the run's rows, so
 * a run that is exported twice has the same spans. Names and attributes follow the OpenTelemetry GenAI conventions;
 * attributes without a name there begin with `isola.`.
 *
 * Number and content of the spans are limited: of a longer run the newest turns are exported, and the run's span
 * counts the rest.
 *
 * A sub-agent's run is exported by its own session: its parent is the span of the tool call that began it.
 */
export function toSpans(run: RunRecord, options: SpanOptions): readonly Span[] {
  const content = limitContent(options.content)
  const idOf = (...place: (string | number)[]) => spanIdOf(run.run, ...place)
  const toTurn = ({ turn, requests, calls }: TurnPart): readonly Span[] => {
    const parts = [
      ...requests.map((event) => {
        // A request recorded by a version without request numbers is named by its event number in the log.
        const { request, turn: number = turn.turn } = event.data
        const id = idOf(number, request ?? `event ${event.seq}`)
        return toModelSpan(event, turn, { id, content: content.ofModelCall(run, turn, event) })
      }),
      ...calls.map((call) =>
        toToolSpan(call, turn, { id: idOf(call.id), content: content.ofCall(call) }),
      ),
    ]
    const id = idOf(turn.turn)
    const owner = toTurnSpan(turn, parts, id)
    return [owner, ...parts.map((span) => ({ ...span, parent: id }))]
  }
  const captured = content.ofRun(run)
  const { parts, leftOut } = newestParts(run.turns)
  // The newest turns first, so that their content is captured before the limit is reached.
  const turns = parts.toReversed().map(toTurn).toReversed().flat()
  const common = {
    'gen_ai.conversation.id': run.session,
    'gen_ai.agent.id': run.agent,
    'gen_ai.agent.name': run.agent,
    'isola.run.id': run.run,
  }
  const id = idOf()
  const cut = {
    'isola.trace.spans_left_out': leftOut || undefined,
    'isola.trace.content_left_out': content.leftOut() || undefined,
  }
  const root = toRunSpan(run, { id, content: { ...captured, ...cut } })
  const { parent } = run
  const above = parent ? spanIdOf(parent.run, parent.call) : run.link?.span
  return [
    {
      ...root,
      endMs: turns.reduce((latest, { endMs }) => Math.max(latest, endMs), root.endMs),
      parent: above,
      isParentRemote: !parent && above !== undefined,
    },
    ...turns.map((span) => ({ ...span, parent: span.parent ?? id })),
  ].map((span) => ({ ...span, attributes: { ...span.attributes, ...common } }))
}

interface SpanParts {
  readonly id: string
  readonly content: Attributes
}

function toRunSpan(run: RunRecord, { id, content }: SpanParts): Span {
  const { final } = run
  const last = final.modelCalls.at(-1)
  const sum = (of: 'inputTokens' | 'outputTokens') =>
    final.modelCalls.reduce((total, call) => total + call[of], 0)
  return {
    id,
    name: `invoke_agent ${run.agent}`,
    kind: 'internal',
    startMs: run.startedAtMs,
    endMs: final.finishedAtMs,
    error: final.success ? undefined : (final.error?.code ?? final.state),
    events: [],
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': last?.provider,
      'gen_ai.response.model': last?.model,
      'gen_ai.usage.input_tokens': sum('inputTokens'),
      'gen_ai.usage.output_tokens': sum('outputTokens'),
      'gen_ai.response.finish_reasons': final.success ? [final.finishReason ?? 'stop'] : undefined,
      'isola.run.state': final.state,
      'isola.run.turns': final.steps,
      'isola.run.tool_calls': final.usage.toolCalls,
      // Includes sub-agents, as the run's lease does.
      'isola.usage.total_tokens': final.usage.tokens,
      'isola.usage.cost_usd': { double: final.costEstimateUsd },
      ...content,
    },
  }
}

function toTurnSpan(turn: TurnRecord, parts: readonly Span[], id: string): Span {
  const times = turn.events.map(({ atMs }) => atMs)
  return {
    id,
    name: `turn ${turn.turn}`,
    kind: 'internal',
    startMs: Math.min(...parts.map(({ startMs }) => startMs), ...times),
    endMs: Math.max(...parts.map(({ endMs }) => endMs), ...times),
    events: toSpanEvents(turn.events.filter((event) => callOf(event) === undefined)),
    attributes: { 'isola.turn': turn.turn, 'isola.turn.active_ms': turn.usage.timeMs },
  }
}

function toModelSpan(event: ModelRequestEvent, turn: TurnRecord, { id, content }: SpanParts): Span {
  const { data, atMs } = event
  const answer = event.type === 'model_called' ? event.data : undefined
  const failure = event.type === 'model_failed' ? event.data : undefined
  const asked = text(answer?.requestedModel) ?? text(data.model)
  const substitution = turn.events.findLast(
    (one): one is SessionEvent<'model_substituted'> =>
      one.type === 'model_substituted' && one.seq < event.seq,
  )
  const isSubstitute = substitution && text(substitution.data.model) === asked
  const firstTextMs = answer?.firstTextMs
  return {
    id,
    name: `chat ${asked ?? ''}`.trim(),
    kind: 'client',
    startMs: atMs - data.durationMs,
    endMs: atMs,
    error: failure && (text(failure.code) ?? '_OTHER'),
    events: [],
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': text(data.provider),
      'gen_ai.request.model': asked,
      'gen_ai.response.model': text(answer?.model),
      'gen_ai.usage.input_tokens': answer?.inputTokens,
      'gen_ai.usage.output_tokens': answer?.outputTokens,
      'gen_ai.response.finish_reasons': answer && [answer.finishReason],
      'gen_ai.request.stream': firstTextMs === undefined ? undefined : true,
      'gen_ai.response.time_to_first_chunk':
        firstTextMs === undefined ? undefined : { double: firstTextMs / 1_000 },
      'isola.model.substituted_for': isSubstitute
        ? text(substitution.data.asked) || 'default'
        : undefined,
      'isola.model.request': data.request,
      'isola.lease.reserved_tokens': answer?.reservedTokens,
      'isola.lease.booked_tokens': failure?.bookedTokens,
      'isola.usage.estimated': answer?.estimated ? true : undefined,
      'isola.usage.cost_usd': answer?.priced ? { double: answer.costNanoUsd / 1e9 } : undefined,
      ...content,
    },
  }
}

function toToolSpan(call: CallRecord, turn: TurnRecord, { id, content }: SpanParts): Span {
  const events = turn.events.filter((event) => callOf(event) === call.id)
  const of = <Type extends EventType>(type: Type) =>
    events.find((event): event is Extract<SessionEvent, { type: Type }> => event.type === type)
  const [started, finished, child] = [of('tool_started'), of('tool_finished'), of('agent_invoked')]
  const startMs = call.startedAtMs
  // A call that waited or was interrupted has a duration only for its part after that, so its end event counts.
  const isInOneGo = !of('pause_answered') && !turn.events.some(({ type }) => type === 'run_resumed')
  const lastMs = turn.events.at(-1)?.atMs ?? startMs
  const endMs = isInOneGo ? startMs + (call.durationMs ?? lastMs - startMs) : finished?.atMs
  const { outcome } = call
  const failed = outcome?.ok === false ? outcome.error.code : undefined
  return {
    id,
    name: `execute_tool ${call.tool}`,
    kind: 'internal',
    startMs,
    endMs: Math.max(startMs, endMs ?? lastMs),
    error: outcome ? failed : 'tool_outcome_unknown',
    events: toSpanEvents(events),
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': call.tool,
      'gen_ai.tool.call.id': call.id,
      'gen_ai.tool.type': 'function',
      'isola.tool.args_hash': call.argsHash,
      'isola.tool.input_chars': started?.data.inputChars,
      'isola.tool.output_chars': finished?.data.outputChars,
      'isola.plugin.id': text(started?.data.plugin),
      'isola.plugin.version': text(started?.data.version),
      'isola.plugin.tier': text(started?.data.tier),
      'isola.child.session': text(child?.data.session),
      ...content,
    },
  }
}

const text = (value: string | undefined): string | undefined => value || undefined
