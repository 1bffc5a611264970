import { describe, expect, it } from 'vitest'
import { createTokenEstimator } from '../../src/platform/models/estimate.ts'
import { generateTranscript } from './generator.ts'
import { createKeptTexts } from './kept-texts.ts'
import { findUnpaired } from './rules.ts'
import { factKinds, normalise, textOf, type Fact, type Transcript } from './types.ts'

// One of each domain, with each window three times and more.
const all = Array.from({ length: 13 }, (_, number) => generateTranscript(7, number))
const plain = new Map(all.map((one) => [one, one.messages.map((said) => normalise(textOf(said)))]))
const hasAll = (text: string | undefined, { strings }: Fact) =>
  strings.every((wanted) => text?.includes(normalise(wanted)))
const each = (wrong: (fact: Fact, transcript: Transcript) => boolean) =>
  all.flatMap((one) => one.facts.filter((fact) => wrong(fact, one)))

describe('the generator of transcripts', () => {
  it('I19: makes the same transcript of the same seed and number, and another one of others', () => {
    const text = (seed: number, number: number) => JSON.stringify(generateTranscript(seed, number))
    expect(text(7, 0)).toBe(JSON.stringify(all[0]))
    expect(text(8, 0)).not.toBe(text(7, 0))
    expect(text(7, 13)).not.toBe(text(7, 0))
  })

  it('plants fifty facts of all four kinds in each', () => {
    expect(all.map(({ facts }) => facts.length)).toEqual(all.map(() => 50))
    for (const { facts } of all)
      expect(new Set(facts.map(({ kind }) => kind))).toEqual(new Set(factKinds))
  })

  it('stays within its sizes', () => {
    const estimator = createTokenEstimator()
    for (const { messages, windowTokens } of all) {
      const request = { model: undefined, messages, tools: [], parameters: {} }
      const tokens = estimator.ofRequest(request)
      expect(messages.length).toBeGreaterThanOrEqual(60)
      expect(messages.length).toBeLessThanOrEqual(1_250)
      expect(tokens).toBeGreaterThan(20_000)
      expect(tokens).toBeLessThan(520_000)
      expect([8_000, 16_000, 32_000, 128_000]).toContain(windowTokens)
    }
  })

  it('answers each call right after it, with an id of its own', () => {
    for (const { messages } of all) {
      expect(findUnpaired(messages)).toBeUndefined()
      const calls = messages.flatMap((one) => (one.role === 'tool' ? [one.callId] : []))
      expect(new Set(calls).size).toBe(calls.length)
    }
  })

  it('says where each fact stands first', () => {
    const first = (fact: Fact, one: Transcript) =>
      plain.get(one)!.findIndex((text) => hasAll(text, fact))
    expect(each((fact, one) => first(fact, one) !== fact.at)).toEqual([])
  })

  it('puts the name of a thing so near that one search for it shows the fact', () => {
    // Behind more than a page, so that the first page alone shows nothing.
    const isHidden = (fact: Fact, { messages }: Transcript) => {
      const texts = createKeptTexts()
      const handle = texts.keep(`${' .'.repeat(9_000)}${textOf(messages[fact.at]!)}`)
      return !texts.namedIn(handle).some((kept) => texts.shows(kept, fact))
    }
    expect(each(isHidden)).toEqual([])
  })

  it('names an artefact again in a step of the agent, after it was shown, and pins it from then on', () => {
    const artefacts = all.flatMap(({ facts }) => facts.filter(({ kind }) => kind === 'artefact'))
    const again = artefacts.filter(({ namedAgain }) => namedAgain.length > 0)
    expect(again.length).toBeGreaterThan(artefacts.length * 0.7)
    const isWrong = (fact: Fact, one: Transcript) =>
      fact.namedAgain.some(
        (at) =>
          at <= fact.at ||
          one.messages[at]?.role !== 'assistant' ||
          !hasAll(plain.get(one)![at], fact) ||
          fact.pinned?.from !== fact.namedAgain[0],
      )
    expect(each(isWrong)).toEqual([])
  })

  it('lets a correction count instead of what was said before', () => {
    for (const { facts } of all) {
      const later = facts.filter(({ form }) => form === 'correction')
      expect(later).toHaveLength(3)
      for (const { cue, at } of later) {
        const before = facts.find((one) => one.cue === cue && one.form !== 'correction')
        expect(before).toMatchObject({ kind: 'recall', until: at })
        expect(before!.at).toBeLessThan(at)
      }
    }
  })

  it('pins the rules, the goal, approvals and denials, and calls that still wait for a person', () => {
    const reasons = new Set(all.flatMap(({ facts }) => facts.map(({ pinned }) => pinned?.reason)))
    expect(reasons).toEqual(
      new Set(['rules', 'goal', 'approval', 'named again', 'open pause', undefined]),
    )
    for (const { decided, waiting, facts } of all) {
      const pinnedFor = (wanted: string) =>
        facts.filter(({ pinned }) => pinned?.reason === wanted).length
      expect(decided).toHaveLength(pinnedFor('approval'))
      expect(waiting).toHaveLength(pinnedFor('open pause'))
    }
  })

  it('is of many kinds: languages, failures, parallel calls, results that come twice, very long ones', () => {
    expect(new Set(all.map(({ domain }) => domain)).size).toBe(13)
    expect(new Set(all.map(({ language }) => language)).size).toBeGreaterThanOrEqual(3)
    const messages = all.flatMap((one) => one.messages)
    const results = messages.filter((one) => one.role === 'tool')
    const outputs = results.map(({ output }) => JSON.stringify(output))
    const long = outputs.filter((text) => text.length > 1_000)
    expect(results.filter(({ isError }) => isError).length).toBeGreaterThan(20)
    expect(new Set(long).size).toBeLessThan(long.length)
    expect(outputs.some((text) => text.length > 20_000)).toBe(true)
    expect(
      messages.some((one) => one.role === 'assistant' && (one.toolCalls?.length ?? 0) > 2),
    ).toBe(true)
  })

  it('shows ids that only look like planted ones', () => {
    const herrings = all.flatMap((one) =>
      one.facts.filter(({ kind, strings }) => {
        const [id] = strings.map(normalise)
        const start = id!.slice(0, -2)
        return (
          kind === 'artefact' &&
          plain.get(one)!.some((text) => text.replaceAll(id!, '').includes(start))
        )
      }),
    )
    expect(herrings.length).toBeGreaterThan(13)
  })
})
