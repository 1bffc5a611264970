import { defined } from '#contracts/defined.ts'
import type { Compaction, TokenCounter, Unpinned } from '#contracts/context.ts'
import type { ContextInput } from './types.ts'
import { joinLabels, ownLabel } from '#contracts/label.ts'
import { labelOfAll, type Message, type TaintLabel } from '#contracts/message.ts'
import { archive, keepAll } from './archive.ts'
import { clear } from './clear.ts'
import { namedIds } from './identifiers.ts'
import { shortGoal, type Layout } from './layout.ts'
import { modelSummary, type Prose } from './model-summary.ts'
import { leftOvers } from './pins.ts'
import { ruleSummary, type Gone } from './rule-summary.ts'
import type { Sizes } from './sizes.ts'
import type { Entry } from './view.ts'

export interface SummaryDeps {
  readonly input: ContextInput
  readonly layout: Layout
  readonly sizes: Sizes
  readonly count: TokenCounter
  readonly readTool: string
  /** The messages as they would be sent without the summary. */
  readonly view: readonly Entry[]
  readonly previous: Compaction | undefined
  readonly decisions: ReadonlySet<Message>
  readonly leastSummary: number
  /** A plugin's words, in place of a model's. */
  readonly given?: Prose | undefined
  /** True if the lease is what limits the context: then no model is asked. */
  readonly isByRule: boolean
}

/** A context with a summary in it, and the cost of making it. */
export interface Summarized {
  readonly entries: readonly Entry[]
  readonly archives: Compaction['archives']
  readonly ids: Compaction['ids']
  /** How many of them the summary names. */
  readonly namedIds: number
  readonly unpinned: readonly Unpinned[]
  readonly by: 'model' | 'rule' | 'provider'
  readonly refused?: string
  readonly spent: { readonly tokens: number; readonly costNanoUsd: number }
  readonly results: number
  readonly gone: number
  readonly notKept: number
}

/** The tokens that a request and a message add to their text. */
const formatTokens = 8
/** The share of a summary that a model's prose may fill; the rest is by rule. */
const proseShare = 0.6
const mostProse = 2_000
/** The most that a model is shown for it, in tokens. */
const mostMaterial = 200_000

/**
 * Replaces the messages that do not stay by a summary. The messages are stored first, then a model is asked, if there
 * is one: after a crash in between, the same writes are repeated and no paid request.
 */
export async function summarize(deps: SummaryDeps): Promise<Summarized> {
  const { input, layout, count, readTool, previous } = deps
  const { messages } = input
  const isKept = new Set(layout.kept.flatMap(({ from, to }) => range(from, to)))
  const gone = messages.filter((_, at) => at < layout.goneTo && !isKept.has(at))
  const { archives, notKept } = await archive(input, {
    before: previous?.archives ?? [],
    from: previous?.archives.at(-1)?.to ?? firstSaid(messages),
    to: layout.goneTo,
  })
  const { replaced, results, notKept: lost } = await behindHandles(deps, isKept)
  const material: Gone = {
    messages: gone,
    decisions: deps.decisions,
    leftOvers: leftOvers(messages, input.isLeftOver),
    ids: namedIds(messages, layout.goneTo, previous?.ids),
    archives,
  }
  const prose = deps.given ?? (await proseOf(deps, gone))
  const text = prose && 'text' in prose ? prose.text : undefined
  const summary = ruleSummary(material, {
    maxTokens: layout.summaryTokens - formatTokens,
    ofText: count.ofText,
    readTool,
    ...defined({ prose: text }),
  })
  const message: Message = {
    role: 'user',
    text: summary.text,
    taint: taintOf(messages.slice(0, layout.goneTo), text),
    // It names identifiers of what stays, too.
    label: joinLabels([
      labelOfAll(messages),
      (prose && 'text' in prose && prose.label) || ownLabel,
    ]),
  }
  const before = layout.kept.filter(({ from }) => from < layout.goneTo)
  const entry = (at: number): readonly Entry[] => {
    const original = messages[at]
    const other = replaced.get(at)
    return original ? [{ at, message: other ?? original, isReplaced: other !== undefined }] : []
  }
  return {
    entries: [
      ...before.flatMap(({ from, to }) => range(from, Math.min(to, layout.goneTo)).flatMap(entry)),
      ...(gone.length > 0 ? [{ message, isReplaced: false }] : []),
      ...range(layout.goneTo, messages.length).flatMap(entry),
    ],
    archives,
    ids: material.ids,
    namedIds: summary.ids,
    unpinned: [
      ...layout.unpinned,
      ...(summary.ids < material.ids.length ? (['ids'] as const) : []),
      ...(summary.hasAllArchives ? [] : (['archives'] as const)),
    ],
    by: text === undefined ? 'rule' : deps.given ? 'provider' : 'model',
    ...(prose && 'refused' in prose && { refused: prose.refused }),
    spent: prose?.spent ?? { tokens: 0, costNanoUsd: 0 },
    results,
    gone: gone.length,
    notKept: notKept + lost,
  }
}

/** Puts a handle in place of each result that the layout shortens. Results replaced before stay as they are. */
async function behindHandles(
  { input: { messages, keep }, layout, view, readTool }: SummaryDeps,
  isKept: ReadonlySet<number>,
) {
  const replaced = new Map<number, Message>()
  for (const { at, message, isReplaced } of view)
    if (at !== undefined && isReplaced && isKept.has(at)) replaced.set(at, message)
  let results = 0
  let notKept = 0
  for (const [at, headChars] of layout.cleared) {
    const message = messages[at]
    if (message?.role !== 'tool') continue
    const stub = await clear(message, keep, readTool, headChars)
    if (stub) replaced.set(at, stub)
    if (stub) results += 1
    else notKept += 1
  }
  const goalAt = messages.findIndex(({ role }) => role === 'user')
  const goal = messages[goalAt]
  if (layout.goalChars !== undefined && goal?.role === 'user') {
    const handles = keep ? await keepAll(goal.text, keep) : []
    const text = handles && shortGoal(goal.text, layout.goalChars, handles.join(' '))
    if (text) replaced.set(goalAt, { ...goal, text })
    else notKept += 1
  }
  return { replaced, results, notKept }
}

/** The model's prose. The model reads the summary before, and the messages that are not in it. */
async function proseOf(deps: SummaryDeps, gone: readonly Message[]): Promise<Prose | undefined> {
  if (deps.isByRule) return undefined
  const { input, layout, sizes, count, view } = deps
  const free = Math.floor((layout.summaryTokens - deps.leastSummary) * proseShare)
  const maxTokens = Math.max(0, Math.min(mostProse, free))
  const earlier = view.find(({ at }) => at === undefined)?.message
  // The call for which all this is done has to be paid as well, if there is one.
  const next = input.force === 'requested' ? 0 : sizes.target
  const paid = sizes.budget - next - maxTokens
  // How much the model takes is not known where it refused more than it was said to: the summary itself has to pass.
  const passes = input.force === 'context_error' ? sizes.target : Infinity
  const material = {
    ...(earlier?.role === 'user' && { earlier: earlier.text }),
    messages: newlyGone(deps, gone),
    maxTokens,
    roomTokens: Math.min(sizes.window, paid, passes, mostMaterial),
  }
  return modelSummary(input, material, count)
}

const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)

/** The agent's instructions are no part of the transcript. */
const firstSaid = (messages: readonly Message[]): number => (messages[0]?.role === 'system' ? 1 : 0)

/** The messages that leave now; the model reads earlier ones in the summary before. */
function newlyGone({ view, input }: SummaryDeps, gone: readonly Message[]): readonly Message[] {
  if (view.every(({ at }) => at !== undefined)) return gone
  const shown = new Set(view.flatMap(({ at }) => (at === undefined ? [] : [input.messages[at]])))
  return gone.filter((message) => shown.has(message))
}

/**
 * A summary is as trustworthy as the least trusted message in it. It names identifiers of messages that stay, so these
 * count too.
 */
function taintOf(before: readonly Message[], prose: string | undefined): readonly TaintLabel[] {
  const labels = before.flatMap((message) => (message.role === 'system' ? [] : message.taint))
  return [...new Set<TaintLabel>(['context', ...labels, ...(prose ? (['model'] as const) : [])])]
}
