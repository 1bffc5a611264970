import { defined } from '#contracts/defined.ts'
import { unpinOrder, type TokenCounter, type Unpinned } from '#contracts/context.ts'
import { type ContextInput, bothEnds } from './types.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import { anyHandle, fairHeads, minCleared, planned, type ToolAnswer } from './clear.ts'
import { leftOvers, type Pin, type PinnedSteps } from './pins.ts'
import { perRequest, type Sizes } from './sizes.ts'
import type { ContextStep } from './steps.ts'

/** The messages that are sent with a summary, and the results that need handles for it. */
export interface Layout {
  readonly kept: readonly ContextStep[]
  /** Everything from here on is sent; of the steps before it only `kept`. */
  readonly goneTo: number
  /** Answers that get a handle, with how much of their beginning stays. */
  readonly cleared: ReadonlyMap<number, number | undefined>
  /** The most characters of the user's first message. */
  readonly goalChars?: number
  readonly unpinned: readonly Unpinned[]
  /** The tokens of the whole layout, with tools and the shortest summary. */
  readonly tokens: number
  /** The most tokens of the summary. */
  readonly summaryTokens: number
  readonly stayed: Readonly<Record<Pin | 'last', number>>
}

export interface LayoutDeps {
  readonly input: ContextInput
  readonly steps: readonly ContextStep[]
  readonly pins: PinnedSteps
  readonly sizes: Sizes
  readonly count: TokenCounter
  readonly readTool: string
  /** Messages that replace others already. */
  readonly replaced: ReadonlyMap<number, Message>
  /** Messages before this place are in the summary only. */
  readonly goneTo: number
  /** The shortest summary: its handles. */
  readonly leastSummary: number
}

const mostSummary = 4_000
/** The least that stays of the user's first message, in tokens and in characters. */
const leastGoal = 64
const leastGoalChars = 40

/** The number of last steps that are sent whole, as far as they fit. Steps of a failed run do not count. */
export function lastSteps(deps: LayoutDeps): number {
  const { steps, pins, sizes, goneTo } = deps
  const left = leftOvers(deps.input.messages, deps.input.isLeftOver)
  let tokens = 0
  let first = pins.fresh
  for (let at = pins.fresh - 1; at >= 0; at -= 1) {
    const step = steps[at]
    if (!step || step.from < goneTo) break
    if (deps.input.messages.slice(step.from, step.to).some((one) => left.has(one))) break
    tokens += costOf(step, deps)
    if (tokens > sizes.lastTurns) break
    first = at
  }
  return first
}

const costAt = (at: number, { input, replaced, count }: LayoutDeps): number => {
  const message = replaced.get(at) ?? input.messages[at]
  return message ? count.ofMessage(message) : 0
}

const costOf = (step: ContextStep, deps: LayoutDeps): number => {
  let sum = 0
  for (let at = step.from; at < step.to; at += 1) sum += costAt(at, deps)
  return sum
}

/** Decides what stays. Pins beyond the target are given up in the order of `unpinOrder`. */
export function layOut(deps: LayoutDeps): Layout {
  const { input, steps, pins, sizes } = deps
  const draft = openDraft(deps)
  for (const name of unpinOrder) {
    // Room for a wanted summary counts from here on: a result has a handle of its own, but a message that leaves can
    // only be searched for. The last turns are worth more than a longer summary, and their results less.
    draft.most = sizes.target - (name === 'last_turn_results' ? wantedSummary(sizes.target) : 0)
    if (isOver(draft)) giveUp[name](draft)
  }
  const { kept, cleared, unpinned, goalChars, tailAt, tokens } = draft
  const staying = steps.filter((step) => kept.has(step))
  const pinned = (pin: Pin) => staying.filter((step) => pins.of.get(step) === pin).length
  const goneTo = Math.max(deps.goneTo, steps[tailAt]?.from ?? input.messages.length)
  // A late answer has joined what lies on both sides: its call and it leave together.
  const across = steps.find(({ from, to }) => from < goneTo && goneTo < to)
  const isSent = (at: number) => staying.some(({ from, to }) => from <= at && at < to)
  return {
    kept: staying,
    goneTo: across && !kept.has(across) ? across.to : goneTo,
    cleared: new Map([...cleared].filter(([at]) => isSent(at))),
    ...defined({ goalChars }),
    unpinned: [...unpinned],
    tokens,
    summaryTokens: deps.leastSummary + summaryRoom(sizes.target - tokens, sizes.target),
    stayed: {
      always: pinned('always'),
      open: pinned('open'),
      decision: pinned('decision'),
      goal: pinned('goal'),
      last: steps.length - tailAt,
    },
  }
}

/** A layout while it is made shorter. */
interface Draft extends LayoutDeps {
  readonly kept: Set<ContextStep>
  readonly replaced: Map<number, Message>
  readonly cleared: Map<number, number | undefined>
  readonly unpinned: Set<Unpinned>
  goalChars?: number
  /** The first of the last steps. */
  tailAt: number
  tokens: number
  /** Above this many tokens a pin is given up. */
  most: number
}

function openDraft(deps: LayoutDeps): Draft {
  const { steps, pins, count, input } = deps
  const tailAt = lastSteps(deps)
  const kept = new Set(steps.filter((step, index) => index >= tailAt || pins.of.has(step)))
  let tokens = count.ofTools(input.tools) + deps.leastSummary
  for (const step of kept) tokens += costOf(step, deps)
  const replaced = new Map(deps.replaced)
  return {
    ...deps,
    kept,
    replaced,
    cleared: new Map(),
    unpinned: new Set(),
    tailAt,
    tokens,
    most: deps.sizes.target,
  }
}

const isOver = ({ tokens, most }: Draft): boolean => tokens > most

/** Something shorter takes the place of a message. */
function replace(draft: Draft, at: number, message: Message): void {
  draft.tokens -= costAt(at, draft)
  draft.replaced.set(at, message)
  draft.tokens += costAt(at, draft)
}

function drop(draft: Draft, step: ContextStep, name: Unpinned): void {
  if (!draft.kept.delete(step)) return
  draft.tokens -= costOf(step, draft)
  draft.unpinned.add(name)
}

/** What each name of `unpinOrder` gives up, until the layout fits. */
const giveUp: Readonly<Record<(typeof unpinOrder)[number], (draft: Draft) => void>> = {
  last_turn_results(draft) {
    const { steps, pins, input, count, readTool, replaced } = draft
    for (const step of steps.slice(draft.tailAt, pins.fresh)) {
      if (pins.of.has(step)) continue
      for (const [at, answer] of answersIn(step, input)) {
        if (!isOver(draft)) return
        const stub = planned(answer, readTool)
        const least = Math.max(minCleared, count.ofMessage(stub) + 30)
        if (replaced.has(at) || costAt(at, draft) < least) continue
        replace(draft, at, stub)
        draft.cleared.set(at, undefined)
        draft.unpinned.add('last_turn_results')
      }
    }
  },
  last_turns(draft) {
    for (; isOver(draft) && draft.tailAt < draft.pins.fresh; draft.tailAt += 1) {
      const step = draft.steps[draft.tailAt]
      if (step && !draft.pins.of.has(step)) drop(draft, step, 'last_turns')
    }
  },
  decisions(draft) {
    for (const [step, pin] of draft.pins.of) {
      if (!isOver(draft)) return
      if (pin === 'decision') drop(draft, step, 'decisions')
    }
  },
  goal(draft) {
    const at = draft.pins.goal?.from
    const goal = at === undefined ? undefined : draft.input.messages[at]
    if (at === undefined || goal?.role !== 'user') return
    const cost = costAt(at, draft)
    const over = draft.tokens - draft.sizes.target
    const share = Math.max(leastGoal, Math.min(cost - over, Math.floor(draft.sizes.target / 8)))
    if (share >= cost) return
    let chars = Math.floor((goal.text.length * share) / draft.count.ofMessage(goal))
    let text = shortGoal(goal.text, chars, anyHandle)
    // The two ends may count for more tokens than the middle, and the text also names the handle of the rest.
    while (chars > leastGoalChars && draft.count.ofMessage({ ...goal, text }) > share) {
      chars = Math.max(leastGoalChars, Math.floor(chars * 0.9))
      text = shortGoal(goal.text, chars, anyHandle)
    }
    draft.goalChars = chars
    replace(draft, at, { ...goal, text })
    draft.unpinned.add('goal')
  },
  newest_results(draft) {
    const { steps, pins, input, count, readTool } = draft
    const fresh = steps.slice(pins.fresh).flatMap((step) => answersIn(step, input))
    const has = fresh.reduce((sum, [at]) => sum + costAt(at, draft), 0)
    const free = Math.max(0, has - (draft.tokens - draft.sizes.target))
    const answers = fresh.map(([, answer]) => answer)
    const heads = fairHeads(answers, free, count, readTool)
    for (const [at, answer] of fresh) {
      const head = heads.get(answer)
      if (head === undefined) continue
      const stub = planned(answer, readTool, head)
      if (count.ofMessage(stub) >= costAt(at, draft)) continue
      replace(draft, at, stub)
      draft.cleared.set(at, head)
      draft.unpinned.add('newest_results')
    }
  },
  open_calls(draft) {
    for (const [step, pin] of draft.pins.of) {
      // Only so that the conversation goes on at all.
      if (draft.tokens <= draft.sizes.window) return
      if (pin === 'open') drop(draft, step, 'open_calls')
    }
  },
}

/** Below this a model has hardly room for prose. */
const wantedSummary = (target: number): number => Math.min(1_000, Math.floor(target / 8))

/** Below zero if the pinned messages alone are too much: the shortest summary is planned longer than it turns out. */
const summaryRoom = (free: number, target: number): number =>
  Math.min(free, mostSummary, Math.floor(target / 4))

export function answersIn(
  { from, to }: ContextStep,
  { messages }: Pick<ContextInput, 'messages'>,
): readonly (readonly [number, ToolAnswer])[] {
  return messages
    .slice(from, to)
    .flatMap((message, index) =>
      message.role === 'tool' ? [[from + index, message] as const] : [],
    )
}

/** The user's first message, where it alone is too long. */
export const shortGoal = (text: string, chars: number, handle: string): string =>
  `${bothEnds(text, chars)}\n[Shortened to make room${handle && `; in full behind the handle ${handle}`}.]`

/** Fails because nothing more can be left out. The message names the limit and the sizes. */
export function tooLarge({ input, count, sizes, pins, steps }: LayoutDeps): IsolaError {
  const { messages, model, tools } = input
  const stays = steps.filter((step) => pins.of.get(step) === 'always')
  const all = stays.flatMap(({ from, to }) => messages.slice(from, to))
  const said = all.filter(({ role }) => role !== 'system')
  const rules = all.filter(({ role }) => role === 'system')
  const fixed =
    perRequest +
    count.ofTools(tools) +
    rules.reduce((sum, message) => sum + count.ofMessage(message), 0)
  const limit = Math.max(0, sizes.window - fixed)
  const largest = Math.max(0, ...said.map((message) => count.ofMessage(message)))
  if (fixed >= sizes.window)
    return new IsolaError(
      'model_not_capable',
      `The instructions and tools of this agent have about ${fixed} tokens; ${model.name} ` +
        `takes at most ${sizes.window} as input.`,
    )
  if (largest <= limit)
    return new IsolaError(
      'request_too_large',
      `What came in since the last answer has more than the ${limit} tokens that ` +
        `${model.name} takes with this agent's instructions and tools.`,
    )
  return new IsolaError(
    'request_too_large',
    `The message has about ${largest} tokens; with this agent's instructions and tools ` +
      `${model.name} takes at most ${limit} in one message.`,
  )
}
