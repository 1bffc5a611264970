import type { Json } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'
import { createTokenEstimator } from '../../src/platform/models/estimate.ts'
import type { CreateCompactor, StepResult } from './compactor-contract.ts'
import { createKeptTexts } from './kept-texts.ts'
import { areSame, findUnpaired, isSame, minTurnsBetween, startOfLastTurns } from './rules.ts'
import type { Broken, Rule } from './rules.ts'
import { normalise, textOf, type Fact, type Transcript } from './types.ts'

/** Where a fact is: the worse of two checks counts. */
export type Place = 'window' | 'read' | 'lost'

export interface FactVerdict {
  readonly fact: Fact
  /** The worst while it was pinned by the list, and while it was not; absent if it never was asked for then. */
  readonly pinned?: Place
  readonly free?: Place
}

export interface Score {
  readonly facts: readonly FactVerdict[]
  readonly broken: readonly Broken[]
  readonly compactions: number
  /** Of the window, right after each compaction. */
  readonly fillings: readonly number[]
  /** Tool results that left the window, and those of them that a handle in the last window still leads to. */
  readonly cleared: number
  readonly clearedFoundAtEnd: number
}

const worseOf = (one: Place | undefined, other: Place): Place =>
  one === 'lost' || other === 'lost' ? 'lost' : one === 'read' ? 'read' : other

/**
 * Lets a conversation grow message by message, asks the compactor before each model step, and judges what it shows: all
 * that is wanted right after each compaction and at the end, an id also right before a step names it again.
 */
export async function scoreTranscript(
  transcript: Transcript,
  createCompactor: CreateCompactor,
): Promise<Score> {
  const judge = createJudge(transcript)
  const compactor = createCompactor()
  const { messages } = transcript
  let shown: readonly Message[] = []
  let state: Json | undefined
  for (let at = 0; at <= messages.length; at += 1) {
    const message = messages[at]
    if (message === undefined || message.role === 'assistant') {
      let result: StepResult
      try {
        result = await compactor({ ...judge.inputAt(at), messages: shown, state })
      } catch (error) {
        judge.breaks('failed', at, String(error))
        return judge.score()
      }
      judge.step({ at, before: shown, result })
      shown = result.messages
      state = result.state
    }
    if (message) shown = [...shown, message]
  }
  return judge.score()
}

interface Step {
  readonly at: number
  readonly before: readonly Message[]
  readonly result: StepResult
}

/** The state that a journal would have by then. */
const knownAt = ({ messages, decided, waiting, windowTokens }: Transcript, at: number) => ({
  transcript: messages.slice(0, at),
  windowTokens,
  decidedCalls: decided.filter((one) => one.at < at).map(({ callId }) => callId),
  waitingCalls: waiting
    .filter(({ at: from, until = Infinity }) => from < at && until >= at)
    .map(({ callId }) => callId),
})

const wantedOf = (facts: readonly Fact[], at: number) =>
  facts.filter(({ at: from, until = Infinity }) => from < at && until >= at)

function createJudge(transcript: Transcript) {
  const { messages, facts, windowTokens } = transcript
  const countTokens = createCounter()
  const kept = createKeptTexts()
  const plainOf = createPlain()
  const broken: Broken[] = []
  const breaks = (rule: Rule, at: number, detail: string) => void broken.push({ rule, at, detail })
  const verdicts = new Map<Fact, { pinned?: Place; free?: Place }>(facts.map((one) => [one, {}]))
  const results = new Map(
    messages.flatMap((one) => (one.role === 'tool' ? [[one.callId, one]] : [])),
  )
  const cleared = new Set<string>()
  const fillings: number[] = []
  let turns = 0
  let last: { readonly turns: number; readonly at: number } | undefined
  let shownAtEnd: readonly Message[] = []

  const namedIn = (shown: readonly Message[]) => kept.namedIn(shown.map(textOf).join('\n'))

  /** Where each of these facts is, with what it means for the rule that nothing pinned is lost. */
  function check(wanted: readonly Fact[], shown: readonly Message[], at: number): void {
    const plain = shown.map(plainOf)
    const named = namedIn(shown)
    // Each message of a person begins a run: the last one is what is being worked on.
    const taskAt = messages.findLastIndex(({ role }, index) => role === 'user' && index < at)
    const taskOf = (fact: Fact) => (fact.at === taskAt ? 'goal' : undefined)
    const lastFrom = startOfLastTurns(messages.slice(0, at), { windowTokens, countTokens })
    for (const fact of wanted) {
      const strings = fact.strings.map(normalise)
      const isShown = plain.some((text) => strings.every((one) => text.includes(one)))
      const isRead = !isShown && named.some((one) => kept.shows(one, fact))
      const place = isShown ? 'window' : isRead ? 'read' : 'lost'
      const verdict = verdicts.get(fact)!
      const reason = fact.pinned && fact.pinned.from < at ? fact.pinned.reason : taskOf(fact)
      const isListed = reason !== undefined
      const isPinned = isListed || fact.at >= lastFrom
      if (isPinned && place === 'lost' && verdict.pinned !== 'lost') {
        breaks(
          'pinned_lost',
          at,
          `${fact.kind} (${reason ?? 'last turns'}) of message ${fact.at}: ${fact.strings.join(', ')}`,
        )
      }
      // That the last turns are there says little: they count for the rule only, unless they are not.
      if (isListed || (isPinned && place === 'lost'))
        verdict.pinned = worseOf(verdict.pinned, place)
      else if (!isPinned || at === messages.length) verdict.free = worseOf(verdict.free, place)
    }
  }

  /** Results that were there as they came and are not any more have to be behind a handle. */
  function checkCleared({ at, before, result: { messages: after } }: Step): void {
    const answersOf = (shown: readonly Message[]) =>
      new Map(shown.flatMap((one) => (one.role === 'tool' ? [[one.callId, plainOf(one)]] : [])))
    const left = answersOf(after)
    const named = namedIn(after)
    for (const [callId, text] of answersOf(before)) {
      const original = results.get(callId)
      if (!original || plainOf(original) !== text || left.get(callId) === text) continue
      cleared.add(callId)
      if (!named.some(({ whole }) => whole.includes(text)))
        breaks('not_found_again', at, `${original.name} ${callId}`)
    }
  }

  function checkCompaction(step: Step): void {
    const { at, before, result } = step
    const [sizeBefore, sizeAfter] = [countTokens(before), countTokens(result.messages)]
    fillings.push(sizeAfter / windowTokens)
    if (sizeAfter > sizeBefore) breaks('grew', at, `${sizeBefore} → ${sizeAfter} tokens`)
    if (sizeAfter > windowTokens / 2)
      breaks('over_half', at, `${sizeAfter} of ${windowTokens} tokens`)
    if (last && turns - last.turns < minTurnsBetween) {
      const came = countTokens(messages.slice(last.at, at))
      if (came <= windowTokens / 4)
        breaks('too_soon', at, `${turns - last.turns} turns and ${came} tokens after the last`)
    }
    last = { turns, at }
    if (!isSame(result.messages[0], messages[0])) breaks('rules_changed', at, 'the first message')
    checkCleared(step)
    check(wantedOf(facts, at), result.messages, at)
  }

  return {
    breaks,
    inputAt: (at: number) => ({ ...knownAt(transcript, at), countTokens, keep: kept.keep }),
    step(step: Step): void {
      const { at, before, result } = step
      const { messages: after, isCompacted } = result
      turns += 1
      shownAtEnd = after
      const isUnchanged = areSame(before, after)
      const tokens = countTokens(after)
      if (tokens > windowTokens) breaks('too_large', at, `${tokens} of ${windowTokens} tokens`)
      if (!isCompacted && !isUnchanged) breaks('changed', at, `${before.length} messages before`)
      const unpaired = isUnchanged ? undefined : findUnpaired(after)
      if (unpaired !== undefined) breaks('unpaired', at, unpaired)
      if (isCompacted) checkCompaction(step)
      const named = facts.filter(({ namedAgain }) => namedAgain.includes(at))
      if (named.length > 0) check(named, after, at)
      if (at === messages.length) check(wantedOf(facts, at), after, at)
    },
    score(): Score {
      const named = namedIn(shownAtEnd)
      const isFound = (callId: string) => {
        const text = plainOf(results.get(callId)!)
        return named.some(({ whole }) => whole.includes(text))
      }
      return {
        facts: [...verdicts].map(([fact, verdict]) => ({ fact, ...verdict })),
        broken,
        compactions: fillings.length,
        fillings,
        cleared: cleared.size,
        clearedFoundAtEnd: [...cleared].filter(isFound).length,
      }
    },
  }
}

function createCounter() {
  const estimator = createTokenEstimator()
  const ofAll = (messages: readonly Message[]) =>
    estimator.ofRequest({ model: undefined, messages, tools: [], parameters: {} })
  const perRequest = ofAll([])
  const ofOne = remembered((message) => ofAll([message]) - perRequest)
  return (messages: readonly Message[]): number =>
    messages.reduce((sum, message) => sum + ofOne(message), 0)
}

const createPlain = () => remembered((message: Message) => normalise(textOf(message)))

function remembered<T>(make: (message: Message) => T): (message: Message) => T {
  const known = new WeakMap<Message, T>()
  return (message) => {
    const before = known.get(message)
    if (before !== undefined) return before
    const made = make(message)
    known.set(message, made)
    return made
  }
}
