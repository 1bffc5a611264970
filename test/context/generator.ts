import { createConversation, place, addTurn, type Conversation } from './conversation.ts'
import { domains } from './domains.ts'
import { createDraw } from './draw.ts'
import {
  addDecision,
  addFailure,
  addNaming,
  addOpenWork,
  addReading,
  addReport,
  addUser,
  agentText,
  saidOf,
} from './episodes.ts'
import { someWords } from './formats.ts'
import { pickLanguage } from './languages.ts'
import { planFacts } from './plan.ts'
import type { Transcript } from './types.ts'

const windows = [8_000, 16_000, 32_000, 128_000] as const
/** Of what is generated here, by the estimate of tokens that models are asked with. */
const charsPerToken = 3.4

/**
 * Makes a conversation with fifty planted facts; the same seed and number make the same one. 60 to some 1,200
 * messages, some 30,000 to 400,000 tokens, more than nine tenths of its window.
 */
export function generateTranscript(seed: number, number: number): Transcript {
  const draw = createDraw(seed, number)
  const domain = domains[number % domains.length]!
  const windowTokens = windows[number % windows.length]!
  const language = pickLanguage(draw)
  const messages = draw.wide(60, 1_120)
  const least = Math.max(30_000, windowTokens * 0.9, messages * 60)
  const tokens = draw.wide(least, Math.max(least, Math.min(400_000, messages * 2_500)))
  const plan = planFacts(draw, { domain, language, messages })
  const chars = tokens * charsPerToken
  const conversation = createConversation({ draw, domain, language, plan, messages, chars })
  addStart(conversation)
  const longChars = Math.min(6_000, windowTokens / 3)
  let opening = ''
  for (let isFirst = true; isFirst || conversation.hasMore(); isFirst = false) {
    const text = isFirst ? '' : addUser(conversation, { opening, longChars })
    opening = addRun(conversation) ? '' : `${language.tryAgain} ${text.slice(0, 400)}`
  }
  const { placed, decided } = conversation
  const waiting = conversation.waiting.map(({ callId, at, fact: { until } }) => ({
    callId,
    at,
    ...(until !== undefined && { until }),
  }))
  const facts = placed
    .map(({ plan: _plan, nextAt: _nextAt, ...fact }) => fact)
    .sort((one, other) => one.at - other.at)
  const made = conversation.messages
  return {
    seed,
    number,
    domain: domain.name,
    language: language.name,
    windowTokens,
    messages: made,
    facts,
    decided,
    waiting,
  }
}

/** The rules, which are the operator's, and the first task, which is the goal. */
function addStart(conversation: Conversation): void {
  const { draw, domain, language, messages } = conversation
  const isEarly = ({ kind, due }: { readonly kind: string; readonly due: number }) =>
    kind === 'recall' && due === 0
  const rules = conversation.take(2, isEarly)
  const goals = conversation.take(2, isEarly)
  const rule = () => `- ${someWords(draw, draw.int(8, 16))}.`
  const text = [
    domain.role,
    'Rules:',
    rule(),
    ...rules.map((fact) => `- ${saidOf(conversation, fact)}`),
    ...Array.from({ length: draw.int(1, 8) }, rule),
  ].join('\n')
  messages.push({ role: 'system', text })
  const goal = [
    draw.pick(language.user),
    ...goals.map((fact) => saidOf(conversation, fact)),
    draw.pick(language.user),
  ].join(' ')
  messages.push({ role: 'user', text: goal, taint: ['user'] })
  for (const fact of rules)
    place(conversation, fact, { at: 0, pinned: { reason: 'rules', from: 0 } })
  for (const fact of goals)
    place(conversation, fact, { at: 1, pinned: { reason: 'goal', from: 1 } })
}

/** One task: some model steps, and an answer. False: it broke off before the answer. */
function addRun(conversation: Conversation): boolean {
  const { draw } = conversation
  for (let turns = draw.wide(1, 14); turns > 0; turns -= 1) {
    if (draw.chance(0.6) && addDecision(conversation)) continue
    if (draw.chance(0.6) && addOpenWork(conversation)) continue
    if (draw.chance(0.6) && addNaming(conversation)) continue
    if (draw.chance(0.06)) addFailure(conversation)
    else if (draw.chance(0.04)) addReport(conversation)
    else addReading(conversation)
  }
  if (draw.chance(0.08)) {
    addFailure(conversation)
    return false
  }
  const text = agentText(conversation)
  addTurn(conversation, text || draw.pick(conversation.language.agent), [])
  return true
}
