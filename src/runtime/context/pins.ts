import type { ContextInput } from './types.ts'
import type { Message } from '#contracts/message.ts'
import type { ContextStep } from './steps.ts'

/** Why a step stays. `always` is never given up. */
export type Pin = 'always' | 'open' | 'decision' | 'goal'

/** The steps that have to stay. `fresh` is the first step since the model's last reply. */
export interface PinnedSteps {
  readonly of: ReadonlyMap<ContextStep, Pin>
  /** The first step that the model has not seen yet. */
  readonly fresh: number
  /** The user's first message; undefined if that is the task. */
  readonly goal: ContextStep | undefined
}

export function pinsOf(
  { messages, taskAt, isDecision = looksDecided }: ContextInput,
  steps: readonly ContextStep[],
): PinnedSteps {
  const task = messages.findLastIndex(
    ({ role }, at) => role === 'user' && at <= (taskAt ?? Infinity),
  )
  const goalAt = messages.findIndex(({ role }) => role === 'user')
  const taskStep = steps.findIndex(({ from, to }) => from <= task && task < to)
  const lastSaid = messages.findLastIndex(({ role }) => role === 'assistant')
  const saidStep = steps.findIndex(({ from, to }) => from <= lastSaid && lastSaid < to)
  const said = steps[saidStep]
  const unseen = said && said.to - said.from > 1 ? saidStep : saidStep + 1
  const fresh = Math.max(0, taskStep > saidStep ? taskStep : unseen)
  const rules = new Set<string>()
  const pins = new Map<ContextStep, Pin>()
  let goal: ContextStep | undefined
  steps.forEach((step, index) => {
    const of = messages.slice(step.from, step.to)
    if (index === taskStep || index >= fresh || isRule(of, rules)) pins.set(step, 'always')
    else if (step.isOpen) pins.set(step, 'open')
    else if (of.some((message) => message.role === 'tool' && isDecision(message)))
      pins.set(step, 'decision')
    else if (step.from === goalAt) {
      pins.set(step, 'goal')
      goal = step
    }
  })
  return { of: pins, fresh, goal }
}

/** A system message stays wherever it is. A repetition of an earlier rule does not. */
function isRule(messages: readonly Message[], rules: Set<string>): boolean {
  const [first] = messages
  if (first?.role !== 'system' || rules.has(first.text)) return false
  rules.add(first.text)
  return true
}

const decisionWords = ['approved', 'denied', 'approval', 'decision']

/** Used where no journal says whether a person decided: finds an answer with a field named for a decision. */
function looksDecided(message: Message): boolean {
  if (message.role !== 'tool') return false
  const { output } = message
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return false
  return decisionWords.some((word) => Object.hasOwn(output, word))
}

/** The left-over messages: messages of failed runs, and a user's message that the user sent again before any reply. */
export function leftOvers(
  messages: readonly Message[],
  isLeftOver: (message: Message) => boolean = () => false,
): ReadonlySet<Message> {
  const again = new Set<string>()
  const found = new Set<Message>()
  for (const message of messages.toReversed()) {
    if (message.role === 'assistant') again.clear()
    if (message.role === 'user') {
      if (again.has(message.text)) found.add(message)
      again.add(message.text)
    }
    if (isLeftOver(message)) found.add(message)
  }
  return found
}
