import { describe, expect, it } from 'vitest'
import type { Message } from '#contracts/message.ts'
import type { Compactor, CreateCompactor, StepInput } from './compactor-contract.ts'
import { createCompactor as cutOldest } from './compactors/cut-oldest.ts'
import { createCompactor as keepAll } from './compactors/keep-all.ts'
import { generateTranscript } from './generator.ts'
import { createReport } from './report.ts'
import { scoreTranscript, type Score } from './scorer.ts'
import type { Fact, Transcript } from './types.ts'

const generated = generateTranscript(7, 0)
const rulesOf = ({ broken }: Score) => new Set(broken.map(({ rule }) => rule))
const score = (create: CreateCompactor, transcript = generated) =>
  scoreTranscript(transcript, create)

/** `keepAll`, but what it shows after a compaction is changed. */
const spoilt =
  (
    spoil: (messages: readonly Message[], input: StepInput) => readonly Message[],
  ): CreateCompactor =>
  () => {
    const compact = keepAll()
    return async (input) => {
      const result = await compact(input)
      return result.isCompacted ? { ...result, messages: spoil(result.messages, input) } : result
    }
  }
const always =
  (compactor: Compactor): CreateCompactor =>
  () =>
    compactor

const user = (text: string): Message => ({ role: 'user', text, taint: ['user'] })
const agent = (text: string): Message => ({ role: 'assistant', text, taint: ['model'] })
const fact: Fact = {
  kind: 'recall',
  form: 'number',
  at: 1,
  cue: 'Quiet Heron',
  namedAgain: [],
  strings: ['Quiet Heron', '417/2208-KX'],
}
/** One fact at its start, and enough after it that the fact is in no last turn. */
const small: Transcript = {
  seed: 0,
  number: 0,
  domain: '',
  language: 'en',
  windowTokens: 200,
  messages: [
    {
      role: 'system',
      text: 'Help.',
    },
    user('The reference for Quiet Heron is 417/2208-KX.'),
    ...Array.from({ length: 4 }, (_, at) => [
      agent(`Answer ${at} ${'so '.repeat(20)}`),
      user(`And ${at}?`),
    ]).flat(),
  ],
  facts: [fact],
  decided: [],
  waiting: [],
}
/** Compacts once, when there are seven messages: to the first, a note and the last two. */
const noting = (note: (keep: StepInput['keep']) => string): CreateCompactor =>
  always(({ messages, keep }) =>
    messages.length === 8
      ? {
          messages: [messages[0]!, user(note(keep)), ...messages.slice(-2)],
          isCompacted: true,
        }
      : { messages, isCompacted: false },
  )
const placeOf = async (note: (keep: StepInput['keep']) => string) =>
  (await score(noting(note), small)).facts[0]?.free

describe('the scorer of compactors', () => {
  it('P29: finds everything kept where each old message is behind a handle that the window names', async () => {
    const kept = await score(keepAll)
    expect(kept.broken).toEqual([])
    expect(kept.compactions).toBeGreaterThan(3)
    expect(kept.facts.filter(({ pinned, free }) => pinned === 'lost' || free === 'lost')).toEqual(
      [],
    )
    expect(kept.facts.some(({ free }) => free === 'read')).toBe(true)
    expect(kept.clearedFoundAtEnd).toBe(kept.cleared)
  })

  it('P29: reports losses of every kind where the oldest is cut', async () => {
    const cut = await score(cutOldest)
    expect(rulesOf(cut)).toEqual(new Set(['pinned_lost', 'not_found_again']))
    const lost = cut.facts.filter(({ pinned, free }) => pinned === 'lost' || free === 'lost')
    expect(new Set(lost.map((one) => one.fact.kind)).size).toBe(4)
    expect(cut.clearedFoundAtEnd).toBeLessThan(cut.cleared)
  })

  it('takes a fact as kept if the window has all of its strings in one message', async () => {
    expect(await placeOf(() => 'Quiet Heron: 417/2208-KX')).toBe('window')
    expect(await placeOf(() => 'Quiet Heron: see above')).toBe('lost')
  })

  it('takes a fact as kept behind a handle only while the window names the handle', async () => {
    const text = 'Quiet Heron is 417/2208-KX'
    expect(await placeOf((keep) => `Older: ${keep(text)}.`)).toBe('read')
    expect(await placeOf((keep) => `Older: ${keep(text, 'session.run.call_1')}.`)).toBe('read')
    expect(await placeOf((keep) => `Older: ${keep(text).slice(0, 3)}`)).toBe('lost')
  })

  it('reads a page or searches for the name, and does not guess where the fact is', async () => {
    const far = 'x'.repeat(20_000)
    const behind = (text: string) => placeOf((keep) => keep(text))
    expect(await behind(`${far} Quiet Heron is 417/2208-KX`)).toBe('read')
    expect(await behind(`${far} Quiet Heron ${'.'.repeat(300)} 417/2208-KX`)).toBe('lost')
    const often = 'Quiet Heron again. '.repeat(1_000)
    expect(await behind(`${often} Quiet Heron is 417/2208-KX`)).toBe('lost')
  })

  it('finds a text that was kept as JSON within JSON', async () => {
    const text = JSON.stringify(JSON.stringify({ note: '„Quiet Heron“\n417/2208-KX' }))
    expect(await placeOf((keep) => keep(text))).toBe('read')
  })

  it('does not ask for what was corrected or done', async () => {
    const done = { ...small, facts: [{ ...fact, until: 3 }] }
    const { facts } = await score(
      noting(() => ''),
      done,
    )
    expect(facts[0]?.free).toBeUndefined()
  })

  it('wants an id at hand when a step names it again, and pinned from then on', async () => {
    const artefact: Fact = { ...fact, kind: 'artefact', strings: ['417/2208-KX'], namedAgain: [8] }
    const messages = small.messages.map((one, at) => (at === 8 ? agent('Now 417/2208-KX.') : one))
    const transcript = {
      ...small,
      messages,
      facts: [{ ...artefact, pinned: { reason: 'named again', from: 8 } as const }],
    }
    const { facts, broken } = await score(
      noting(() => ''),
      transcript,
    )
    expect(facts[0]).toMatchObject({ free: 'lost', pinned: 'window' })
    expect(broken).toEqual([])
  })

  it('P29: says when a pinned fact is lost, also one of the last turns', async () => {
    const goal = { ...fact, pinned: { reason: 'goal', from: 1 } as const }
    const pinned = await score(
      noting(() => ''),
      { ...small, facts: [goal] },
    )
    expect(rulesOf(pinned)).toEqual(new Set(['pinned_lost']))
    const recent = { ...fact, at: 7, strings: ['And 2?'], cue: 'And 2?' }
    expect(
      rulesOf(
        await score(
          noting(() => ''),
          { ...small, facts: [recent] },
        ),
      ),
    ).toEqual(new Set())
    const cutsAll = always(({ messages }) => ({
      messages: messages.length === 8 ? messages.slice(0, 1) : messages,
      isCompacted: messages.length === 8,
    }))
    expect(rulesOf(await score(cutsAll, { ...small, facts: [recent] }))).toContain('pinned_lost')
  })

  it('P29: takes the task under way for pinned, however long ago it was given', async () => {
    const words = 'so '.repeat(20)
    const long = small.messages.map((one) => (one.role === 'user' ? agent(words) : one))
    const task = { ...fact, at: 1 }
    const transcript = {
      ...small,
      messages: [small.messages[0]!, small.messages[1]!, ...long.slice(2)],
      facts: [task],
    }
    const { broken } = await score(
      noting(() => ''),
      transcript,
    )
    expect(broken).toMatchObject([{ rule: 'pinned_lost', detail: expect.stringMatching(/goal/) }])
  })

  it('C6: says when nothing is done about a full window', async () => {
    const idle = always(({ messages }) => ({ messages, isCompacted: false }))
    expect(rulesOf(await score(idle))).toEqual(new Set(['too_large']))
  })

  it('C6: says when too much is left, or more than before', async () => {
    const noted = (words: number) =>
      score(
        noting(() => 'so '.repeat(words)),
        small,
      )
    expect(rulesOf(await noted(20))).toEqual(new Set())
    expect(rulesOf(await noted(70))).toEqual(new Set(['over_half']))
    expect(rulesOf(await noted(100))).toContain('grew')
  })

  it('says when a second compaction comes too soon', async () => {
    const restless = always(({ messages }) => ({ messages, isCompacted: true }))
    expect(rulesOf(await score(restless, small))).toContain('too_soon')
    const once = always(({ messages }) => ({ messages, isCompacted: messages.length === 2 }))
    expect(rulesOf(await score(once, small))).toEqual(new Set())
  })

  it('says when what was shown before changes between compactions', async () => {
    const restless = always(({ messages: [first, ...rest] }) => ({
      messages: [first!, ...rest.slice(1), user('again')],
      isCompacted: false,
    }))
    expect(rulesOf(await score(restless, small))).toContain('changed')
  })

  it('says when the system prompt changes', async () => {
    const other = spoilt(([, ...rest]) => [{ role: 'system', text: 'Be brief.' }, ...rest])
    expect(rulesOf(await score(other))).toContain('rules_changed')
  })

  it('says when a call loses its answer, or an answer its call', async () => {
    const without = (role: Message['role']) =>
      spoilt((messages) => {
        const at = messages.findLastIndex(
          (one) => one.role === role && (one.role === 'tool' || 'toolCalls' in one),
        )
        return messages.filter((_, index) => index !== at)
      })
    expect(rulesOf(await score(without('tool')))).toContain('unpaired')
    expect(rulesOf(await score(without('assistant')))).toContain('unpaired')
  })

  it('says when the compactor throws', async () => {
    const broken = always(() => Promise.reject(new Error('no money')))
    expect(rulesOf(await score(broken, small))).toEqual(new Set(['failed']))
  })

  it('adds up what was kept by kind, pinned or not, and names a broken rule', async () => {
    const report = createReport()
    report.add(
      small,
      await score(
        noting((keep) => keep('Quiet Heron 417/2208-KX')),
        small,
      ),
    )
    expect(report.isBroken()).toBe(false)
    report.add(generated, await score(cutOldest))
    expect(report.isBroken()).toBe(true)
    const text = report.lines().join('\n')
    expect(text).toMatch(/^window of 200 +1 +0 +1 +0 +100\.00 %$/m)
    expect(text).toMatch(/^BROKEN pinned_lost × \d+: /m)
  })
})
