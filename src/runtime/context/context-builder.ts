import { defined } from '#contracts/defined.ts'
import type { BuiltContext } from '#runtime/kernel/types/context.ts'
import type { Compaction, CompactionReport, TokenCounter, Unpinned } from '#contracts/context.ts'
import type { ContextBuilder, ContextInput } from './types.ts'
import type { Message } from '#contracts/message.ts'
import { mostArchives } from './archive.ts'
import { chosenLayout, told, type Chosen } from './chosen.ts'
import { clear, minCleared, planned, type ToolAnswer } from './clear.ts'
import { answersIn, lastSteps, layOut, type Layout, type LayoutDeps, tooLarge } from './layout.ts'
import { pinsOf, type Pin } from './pins.ts'
import { leastSummaryOf } from './rule-summary.ts'
import { inputCostOf, perRequest, toSizes, type Sizes } from './sizes.ts'
import { isCallUnderWay, toSteps } from './steps.ts'
import { summarize } from './summarize.ts'
import { createView, markOf, newestOf, toParts, type Entry, type ToView } from './view.ts'

export interface ContextBuilderParts {
  readonly count: TokenCounter
  /** The tool that opens handles. */
  readonly readTool: string
}

/** The turns between two compactions, unless new messages would not fit any more. */
const restTurns = 10
/** Estimates are within about ten percent: a context above this share of the room may be refused. */
const safeShare = 0.95
/** A shorter transcript is never summarized, even on request: in tokens. */
const leastSaid = 1_000
/** A compaction that frees a smaller share is not made: the next step would need another. */
const leastGain = 0.05

export function createContextBuilder(parts: ContextBuilderParts): ContextBuilder {
  const toView = createView()
  return {
    isNeeded: (input) => isNeeded(parts.count, input),
    build: (input) => build({ ...parts, toView }, input),
  }
}

function isNeeded(count: TokenCounter, input: ContextInput): boolean {
  if (input.force || input.records.length > 0) return true
  const { start, budget } = toSizes(input, 0)
  const most = Math.min(start, budget)
  return Number.isFinite(most) && tokensOf(input.messages, input, count) > most
}

async function build(
  parts: ContextBuilderParts & { readonly toView: ToView },
  input: ContextInput,
): Promise<BuiltContext> {
  const { count, toView } = parts
  const { messages, records, signal } = input
  signal.throwIfAborted()
  const previous = newestOf(messages, records)
  const view = toView(messages, previous)
  const sent = { messages: previous ? view.map(({ message }) => message) : messages }
  const tokens = sizeOf(view, input, count)
  const asIs: BuiltContext = { ...sent, tokens }
  if (input.isDecided || isCallUnderWay(messages)) return asIs
  const rules = messages.filter(({ role }) => role === 'system')
  const fixed = tokensOf(rules, input, count)
  if (input.force === 'requested' && tokens - fixed < leastSaid) return asIs
  const sizes = toSizes(input, tokens, fixed)
  const reason = reasonFor({ input, previous, sizes, tokens })
  if (!reason) return asIs
  const steps = toSteps(messages)
  const deps: LayoutDeps = {
    input,
    steps,
    pins: pinsOf(input, steps),
    sizes,
    count,
    readTool: parts.readTool,
    replaced: new Map(
      view.flatMap(({ at, message, isReplaced }) =>
        at !== undefined && isReplaced ? [[at, message] as const] : [],
      ),
    ),
    goneTo: previous?.goneTo ?? 0,
    leastSummary:
      perRequest +
      leastSummaryOf(
        input.keep ? mostArchives(messages, previous, count) : 0,
        count.ofText,
        parts.readTool,
      ),
  }
  const open = { ...deps, view, previous, reason, tokens }
  const chosen = await chosenLayout(open)
  const taken = chosen && 'layout' in chosen ? await asLaidOut(open, chosen) : undefined
  const made = taken ?? told(chosen, (await clearResults(open)) ?? (await withSummary(open)))
  signal.throwIfAborted()
  if (made) return made
  if (tokens > sizes.window) throw tooLarge(deps)
  return asIs
}

interface Open extends LayoutDeps {
  readonly view: readonly Entry[]
  readonly previous: Compaction | undefined
  readonly reason: CompactionReport['reason']
  readonly tokens: number
}

const sizeOf = (view: readonly Entry[], input: ContextInput, count: TokenCounter): number =>
  tokensOf(
    view.map(({ message }) => message),
    input,
    count,
  )

function tokensOf(
  messages: readonly Message[],
  { tools }: ContextInput,
  { ofMessage, ofTools }: TokenCounter,
): number {
  let tokens = perRequest + ofTools(tools)
  for (const message of messages) tokens += ofMessage(message)
  return tokens
}

/** Whether there is to be a compaction now, and why. */
function reasonFor(at: {
  readonly input: ContextInput
  readonly previous: Compaction | undefined
  readonly sizes: Sizes
  readonly tokens: number
}): CompactionReport['reason'] | undefined {
  const { input, previous, sizes, tokens } = at
  const { force, messages } = input
  if (force) return force
  if (tokens > sizes.start) {
    if (!previous || tokens > sizes.window * safeShare) return 'start'
    const turns = messages.slice(previous.covers).filter(({ role }) => role === 'assistant').length
    if (turns >= restTurns) return 'start'
  }
  return tokens > sizes.budget ? 'budget' : undefined
}

/** Old answers of tools to be put behind handles, the oldest first, until it is enough; none if it never is. */
function answersToClear(open: Open, firstLast: number): readonly (readonly [number, ToolAnswer])[] {
  const { input, steps, pins, sizes, count, readTool, view } = open
  const shown = new Set(view.flatMap(({ at, isReplaced }) => (isReplaced ? [] : [at])))
  const chosen: (readonly [number, ToolAnswer])[] = []
  let left = open.tokens
  const old = steps.slice(0, firstLast).filter((step) => !pins.of.has(step))
  for (const [at, answer] of old.flatMap((step) => answersIn(step, input))) {
    if (left <= sizes.target) break
    const before = count.ofMessage(answer)
    const after = count.ofMessage(planned(answer, readTool))
    if (!shown.has(at) || before < Math.max(minCleared, after + 30)) continue
    left -= before - after
    chosen.push([at, answer])
  }
  return left > sizes.target ? [] : chosen
}

/** Stage one: nothing leaves but what old answers of tools say, if that is enough, and if they can be opened again. */
async function clearResults(open: Open): Promise<BuiltContext | undefined> {
  const { input, steps, pins, readTool, view, previous } = open
  if (!input.keep) return undefined
  const firstLast = lastSteps(open)
  const chosen = answersToClear(open, firstLast)
  if (chosen.length === 0) return undefined
  const stubs = new Map<number, Message>()
  for (const [at, answer] of chosen) {
    const stub = await clear(answer, input.keep, readTool)
    if (stub) stubs.set(at, stub)
  }
  const entries = view.map((entry) => {
    const stub = entry.at === undefined ? undefined : stubs.get(entry.at)
    return stub ? { ...entry, message: stub, isReplaced: true } : entry
  })
  const pinned = (of: Pin) => [...pins.of.values()].filter((pin) => pin === of).length
  return finish(open, entries, {
    goneTo: open.goneTo,
    archives: previous?.archives ?? [],
    ids: previous?.ids ?? [],
    report: {
      stage: 'results',
      left: { results: stubs.size, messages: 0, notKept: chosen.length - stubs.size },
      stayed: {
        lastTurns: steps.length - firstLast,
        decisions: pinned('decision'),
        openCalls: pinned('open'),
        ids: previous?.report.stayed.ids ?? 0,
      },
      unpinned: [],
      tokens: 0,
      costNanoUsd: 0,
    },
  })
}

/** Stage two: everything old that need not stay is in a summary. */
async function withSummary(open: Open): Promise<BuiltContext | undefined> {
  const { pins, sizes, tokens, steps } = open
  const layout = layOut(open)
  const isNothing = layout.tokens >= tokens * (1 - leastGain)
  if (isNothing && (layout.tokens >= tokens || tokens <= sizes.window)) return undefined
  if (layout.tokens > sizes.window) return undefined
  // If the lease is too small for the pinned messages, its refusal reports that: a shorter context would not help. The
  // last messages are not given up to save money, since a principal may raise the limit.
  const isLastGone = pins.fresh > 1 && layout.stayed.last <= steps.length - pins.fresh
  const isTooLittle = layout.tokens > sizes.budget || isLastGone || layout.unpinned.some(isWords)
  if (open.reason === 'budget' && isTooLittle) return undefined
  return asLaidOut(open, { layout })
}

/** Builds the context of a layout, with a summary of the rest. */
async function asLaidOut(
  open: Open,
  { layout, prose, from }: Omit<Extract<Chosen, { layout: Layout }>, 'from'> & { from?: string },
): Promise<BuiltContext | undefined> {
  const { input, pins, steps } = open
  const decided = steps.filter((step) => pins.of.get(step) === 'decision')
  const made = await summarize({
    ...open,
    layout,
    given: prose,
    isByRule: open.reason === 'budget',
    decisions: new Set<Message>(
      decided.flatMap((step) => answersIn(step, input).map(([, answer]) => answer)),
    ),
  })
  return finish(open, made.entries, {
    goneTo: layout.goneTo,
    archives: made.archives,
    ids: made.ids,
    report: {
      ...(made.gone > 0 || !from
        ? { stage: 'summary' as const, by: made.by }
        : { stage: 'results' as const }),
      ...defined({ chosenBy: from, refused: made.refused }),
      left: { results: made.results, messages: made.gone, notKept: made.notKept },
      stayed: {
        lastTurns: layout.stayed.last,
        decisions: layout.stayed.decision,
        openCalls: layout.stayed.open,
        ids: made.namedIds,
      },
      unpinned: made.unpinned,
      ...made.spent,
    },
  })
}

/** Whether words of a person or of the agent were given up. A result has a handle; words have none. */
const isWords = (unpinned: Unpinned): boolean =>
  unpinned !== 'last_turn_results' && unpinned !== 'newest_results'

type Made = Pick<Compaction, 'goneTo' | 'archives' | 'ids'> & {
  readonly report: Omit<
    CompactionReport,
    'reason' | 'tokensBefore' | 'tokensAfter' | 'targetTokens' | 'roomTokens' | 'stayed'
  > & { readonly stayed: Omit<CompactionReport['stayed'], 'messages'> }
}

/** The record of the compaction, unless it freed nothing. */
function finish(open: Open, entries: readonly Entry[], made: Made): BuiltContext | undefined {
  const { input, sizes, count, reason, tokens } = open
  const after = sizeOf(entries, input, count)
  if (after >= tokens) return undefined
  const { price } = input.model
  const compaction: Compaction = {
    version: 1,
    covers: input.messages.length,
    mark: markOf(input.messages),
    parts: toParts(entries),
    ...made,
    report: {
      ...made.report,
      reason,
      tokensBefore: tokens,
      tokensAfter: after,
      targetTokens: sizes.target,
      roomTokens: sizes.room,
      stayed: { messages: entries.length, ...made.report.stayed },
      ...(price && {
        callCostNanoUsd: { before: inputCostOf(price, tokens), after: inputCostOf(price, after) },
      }),
    },
  }
  return { messages: entries.map(({ message }) => message), tokens: after, compaction }
}
