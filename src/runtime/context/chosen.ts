import { defined } from '#contracts/defined.ts'
import type { BuiltContext } from '#runtime/kernel/types/context.ts'
import { headOf } from '#contracts/cut.ts'
import { errorMessage } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import { labelFrom } from '#contracts/label.ts'
import type { Message } from '#contracts/message.ts'
import type { LayoutDeps, Layout } from './layout.ts'
import { wordsOf } from './identifiers.ts'
import type { Prose } from './model-summary.ts'
import type { Pin } from './pins.ts'
import type { ContextStep } from './steps.ts'
import type { Entry } from './view.ts'

/** The layout that a context provider chose, or why its choice does not count. */
export type Chosen =
  | { readonly from: string; readonly layout: Layout; readonly prose?: Prose }
  | { readonly from?: string; readonly refused: string }

interface ChosenDeps extends LayoutDeps {
  readonly view: readonly Entry[]
  readonly tokens: number
}

const shownChars = 2_000

/**
 * Asks the context provider which steps stay, leave or get a handle. Pinned steps stay, steps leave whole, and the
 * result fits: a choice that breaks one of these rules or frees nothing does not count. Undefined without a context
 * provider.
 */
export async function chosenLayout(deps: ChosenDeps): Promise<Chosen | undefined> {
  const { input, sizes, tokens } = deps
  if (!input.choose) return undefined
  const shown = new Set(deps.view.flatMap(({ at }) => at ?? []))
  const steps = deps.steps.filter(({ from, to }) => isAny(from, to, shown))
  try {
    const given = await input.choose({
      tokens,
      targetTokens: sizes.target,
      // Left out where the model declares no window.
      ...(Number.isFinite(sizes.window) && { roomTokens: sizes.window }),
      steps: steps.map((step) => toShown(step, deps)),
    })
    if (!given) return undefined
    const { from, isBelieved, answer } = given
    const { contextChoice } = await import('#runtime/kernel/types/provider-answers.ts')
    const read = contextChoice.safeParse(answer)
    if (!read.success) {
      const { path, message } = read.error.issues[0]!
      return { from, refused: headOf(`${path.join('.')}: ${message}`, 200) }
    }
    const { stub = [], summarize = [], summary } = read.data
    const layout = layoutOf({ ...deps, steps }, { stub, summarize })
    if (typeof layout === 'string') return { from, refused: layout }
    // The provider has read strangers' texts. Its word that its summary is clean counts only if it is trusted.
    const label = isBelieved ? undefined : labelFrom(from)
    const spent = { tokens: 0, costNanoUsd: 0 }
    const prose = summary && { text: summary, spent, ...defined({ label }) }
    return { from, layout, ...(prose && { prose }) }
  } catch (error) {
    input.signal.throwIfAborted()
    return { refused: headOf(errorMessage(error), 200) }
  }
}

const isAny = (from: number, to: number, of: ReadonlySet<number>): boolean => {
  for (let at = from; at < to; at += 1) if (of.has(at)) return true
  return false
}

/** The last step stays too: no later message repeats it. */
const pinOf = (step: ContextStep, { pins, steps }: LayoutDeps): Pin | undefined =>
  pins.of.get(step) ?? (step === steps.at(-1) ? 'always' : undefined)

function toShown(step: ContextStep, deps: LayoutDeps): JsonObject {
  const { input, count, replaced } = deps
  const { from, to } = step
  const pin = pinOf(step, deps)
  return {
    step: from,
    ...defined({ pinned: pin }),
    messages: input.messages.slice(from, to).map((message, index) => ({
      at: from + index,
      role: message.role,
      ...(message.role === 'tool' && { tool: message.name }),
      ...(replaced.has(from + index) && { stub: true }),
      tokens: count.ofMessage(replaced.get(from + index) ?? message),
      text: headOf(textOf(message), shownChars).toWellFormed(),
    })),
  }
}

const textOf = (message: Message): string =>
  message.role === 'tool' ? wordsOf(message) : message.text

function layoutOf(
  deps: ChosenDeps,
  { stub, summarize }: { readonly stub: readonly number[]; readonly summarize: readonly number[] },
): Layout | string {
  const { input, steps, pins, sizes, count, replaced, leastSummary, tokens: before } = deps
  if (stub.length + summarize.length === 0) return 'it frees nothing'
  const gone = new Set(summarize)
  const pinned = steps.find((step) => gone.has(step.from) && pinOf(step, deps))
  if (pinned) return `step ${pinned.from} is pinned (${pinOf(pinned, deps)})`
  const unknown = summarize.find((from) => !steps.some((step) => step.from === from))
  if (unknown !== undefined) return `there is no step ${unknown}`
  const kept = steps.filter(({ from }) => !gone.has(from))
  const isKept = (at: number) => kept.some(({ from, to }) => from <= at && at < to)
  const odd = stub.find((at) => input.messages[at]?.role !== 'tool' || !isKept(at))
  if (odd !== undefined) return `message ${odd} is no answer of a tool that stays`
  if (stub.length > 0 && !input.keep) return 'nothing can be put behind a handle here'
  const cleared = new Set(stub)
  let tokens = count.ofTools(input.tools) + leastSummary
  for (const { from, to } of kept)
    for (let at = from; at < to; at += 1)
      if (!cleared.has(at)) tokens += count.ofMessage(replaced.get(at) ?? input.messages[at]!)
  if (tokens >= before) return 'it frees nothing'
  // After the service refused the context, it would refuse a choice that frees only a little as well.
  const most = input.force === 'context_error' ? sizes.target : Math.min(sizes.start, sizes.window)
  if (tokens > most) return `it leaves ${tokens} tokens, which is too much`
  const last = steps.findLastIndex(({ from }) => gone.has(from))
  const goneTo = Math.max(deps.goneTo, steps[last]?.to ?? 0)
  const of = (pin: string) => kept.filter((step) => pins.of.get(step) === pin).length
  return {
    kept,
    goneTo,
    cleared: new Map(stub.map((at) => [at, undefined])),
    unpinned: [],
    tokens,
    summaryTokens: leastSummary + Math.max(0, Math.min(sizes.target - tokens, mostSummaryTokens)),
    stayed: {
      always: of('always'),
      open: of('open'),
      decision: of('decision'),
      goal: of('goal'),
      last: steps.length - last - 1,
    },
  }
}

const mostSummaryTokens = 4_000

/** Adds to the compaction why the provider's choice did not count. */
export function told(
  chosen: Chosen | undefined,
  built: BuiltContext | undefined,
): BuiltContext | undefined {
  if (!chosen || !built?.compaction) return built
  const { compaction } = built
  const notChosen = 'refused' in chosen ? chosen.refused : 'it frees nothing'
  const { from } = chosen
  const report = { ...compaction.report, ...defined({ chosenBy: from }), notChosen }
  return { ...built, compaction: { ...compaction, report } }
}
