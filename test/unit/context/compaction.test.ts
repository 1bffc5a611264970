import { describe, expect, it } from 'vitest'
import { contextSettingsSchema, type Compaction } from '#contracts/context.ts'
import { type ContextInput } from '../../../src/runtime/context/types.ts'
import { IsolaError } from '#contracts/errors.ts'
import { unlimited } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import { clear, fairHeads, planned, type ToolAnswer } from '../../../src/runtime/context/clear.ts'
import {
  answer,
  calls,
  contextBuilder,
  contextInput,
  createKept,
  prose,
  reachable,
  says,
  system,
  tokenCounter,
  user,
} from '../../fakes/context.ts'
import { createRandom } from '../../fakes/random.ts'

const random = createRandom(16)
const long = (tokens: number) => prose(random, tokens)
const rules = system('You are careful.')
const room = 12_000

/** A conversation with old results of tools: about 950 tokens each. */
const withResults = (count: number): Message[] => [
  rules,
  user('Move the billing tables.'),
  ...Array.from({ length: count }, (_, index) => [
    calls(`call_${index}`, 'files__read', { path: `/srv/billing/table-${index}.sql` }),
    answer(`call_${index}`, { text: long(900), at: index }),
  ]).flat(),
  says('Read them all.'),
  user('Go on.'),
]

/** One in which there is nothing but talk: about 620 tokens a turn. */
const withTalk = (turns: number): Message[] => [
  rules,
  user('Plan the move to Lisbon in May.'),
  ...Array.from({ length: turns }, (_, index) => [
    says(`${long(300)} Next I will check step ${index}.`),
    user(`${long(300)} Remember number ${index + 7_000}.`),
  ]).flat(),
]

const build = (messages: readonly Message[], more = {}) =>
  contextBuilder.build(contextInput(messages, more))

const made = async (messages: readonly Message[], more = {}): Promise<Compaction> => {
  const { compaction } = await build(messages, more)
  if (!compaction) throw new Error('nothing was compacted')
  return compaction
}

describe('a context below its start (P29)', () => {
  it('is sent as it is, the very same messages', async () => {
    const messages = withResults(5)
    const built = await build(messages)
    expect(built.messages).toBe(messages)
    expect(built.compaction).toBeUndefined()
  })
})

describe('the first stage (C6)', () => {
  it('puts handles in place of the oldest results until the target is met, and nothing else', async () => {
    const messages = withResults(11)
    const kept = createKept()
    const built = await build(messages, kept)
    expect(built.compaction?.report).toMatchObject({
      stage: 'results',
      reason: 'start',
      left: { messages: 0, notKept: 0 },
    })
    expect(built.tokens).toBeLessThanOrEqual(room * 0.5)
    expect(built.messages).toHaveLength(messages.length)
    const [first] = built.messages.flatMap((message) => (message.role === 'tool' ? [message] : []))
    const stub = first?.output as { handle: string } | undefined
    expect(kept.texts.get(stub?.handle ?? '')).toBe(
      JSON.stringify((messages[3] as { output: unknown }).output),
    )
    expect(first?.output).toMatchObject({
      note: 'Cleared to make room. Open it with isola__read_output.',
    })
    expect(built.messages.at(-3)).toBe(messages.at(-3))
  })

  it('says of a cleared answer without a handle how to get it again, and keeps its beginning', async () => {
    const message = answer('a', 'x'.repeat(1_000)) as ToolAnswer
    const stub = await clear(message, undefined, 'isola__read_output')
    expect(stub?.output).toEqual({
      chars: 1_000,
      head: 'x'.repeat(160),
      note: 'Cleared to make room. Call the tool again if you need it.',
    })
  })

  it('counts what was put behind a handle, and what could not be kept', async () => {
    const kept = createKept()
    const keep = async (text: string) => (kept.texts.size < 3 ? kept.keep(text) : undefined)
    const { compaction, messages } = await build(withResults(11), { keep })
    expect(compaction?.report).toMatchObject({ stage: 'results', left: { results: 3 } })
    expect(compaction?.report.left.notKept).toBeGreaterThan(0)
    expect(messages.filter((one) => JSON.stringify(one).includes('Cleared to'))).toHaveLength(3)
  })

  it('names the handle that a long result has already, and writes nothing', async () => {
    const messages = withResults(10)
    const output = {
      handle: 'ses_a.run_b.call_0',
      chars: 90_000,
      head: long(900),
      note: 'Read on.',
    }
    messages[3] = answer('call_0', output)
    const kept = createKept()
    const built = await build(messages, kept)
    expect(built.messages[3]).toMatchObject({
      output: { handle: 'ses_a.run_b.call_0', chars: 90_000 },
    })
    expect([...kept.texts.values()].join()).not.toContain(output.head)
  })

  it('P29: keeps the result of a tool that speaks of handles of its own', async () => {
    const messages = withResults(12)
    const output = { handle: 'file_7', chars: 1_200, text: long(900) }
    messages[3] = answer('call_0', output)
    const kept = createKept()
    const built = await build(messages, kept)
    const [, , , stub] = built.messages
    if (stub?.role !== 'tool') throw new Error('it is not there')
    const { handle } = stub.output as { handle: string }
    expect(kept.texts.get(handle)).toBe(JSON.stringify(output))
  })

  it('leaves alone decisions of people and calls that still wait', async () => {
    const messages = withResults(12)
    messages[3] = answer('call_0', { approved: true, why: long(300) })
    messages[5] = {
      ...(messages[5] as Extract<Message, { role: 'tool' }>),
      isError: true,
      output: { error: { code: 'tool_pending', message: long(300) } },
    }
    const built = await build(messages)
    expect(built.messages[3]).toBe(messages[3])
    expect(built.messages[5]).toBe(messages[5])
    expect(built.compaction?.report.stayed).toMatchObject({ decisions: 1, openCalls: 1 })
  })
})

describe('fresh answers that do not fit together', () => {
  it('are shown alike, as far as there is room: short ones whole', () => {
    const [small, ...large] = [40, 3_000, 5_000].map(
      (tokens, index) => answer(`c${index}`, long(tokens)) as ToolAnswer,
    )
    const heads = fairHeads([...large, small!], 2_000, tokenCounter, 'isola__read_output')
    expect(heads.has(small!)).toBe(false)
    const shown = large.map((one) => planned(one, 'isola__read_output', heads.get(one)))
    const tokens = shown.map(tokenCounter.ofMessage)
    expect(tokens.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(2_000)
    // No less than two thirds of what each may have.
    for (const one of tokens) expect(one).toBeGreaterThan(600)
  })
})

describe('the second stage (P29)', () => {
  it('makes a summary by rule where there is no model, with the user’s words and where all of it is', async () => {
    const messages = withTalk(20)
    const kept = createKept()
    const built = await build(messages, kept)
    expect(built.compaction?.report).toMatchObject({ stage: 'summary', by: 'rule', costNanoUsd: 0 })
    expect(built.tokens).toBeLessThanOrEqual(room * 0.5)
    expect(built.messages[0]).toBe(messages[0])
    expect(built.messages[1]).toBe(messages[1])
    expect(built.messages.at(-1)).toBe(messages.at(-1))
    const { inReach } = reachable(built.messages, kept.texts)
    for (let index = 0; index < 20; index += 1)
      expect(inReach(`Remember number ${index + 7_000}`)).toBe(true)
  })

  it('takes the words of a model, and says what they cost', async () => {
    const asked: number[] = []
    const built = await build(withTalk(20), {
      summarize: async (request: { messages: readonly Message[] }) => {
        asked.push(request.messages.reduce((sum, one) => sum + tokenCounter.ofMessage(one), 0))
        return { text: 'They move to Lisbon in May.', tokens: 5_000, costNanoUsd: 77 }
      },
    })
    expect(JSON.stringify(built.messages)).toContain('They move to Lisbon in May.')
    expect(built.compaction?.report).toMatchObject({ by: 'model', tokens: 5_000, costNanoUsd: 77 })
    expect(asked).toHaveLength(1)
    expect(asked[0]).toBeLessThan(room)
  })

  it.each(['lease_cost', 'model_unavailable'] as const)(
    'goes by rule if the model is refused with %s, and says so',
    async (code) => {
      const { report } = await made(withTalk(20), {
        summarize: () => Promise.reject(new IsolaError(code, 'No.')),
      })
      expect(report).toMatchObject({ by: 'rule', refused: code })
    },
  )

  it('does not spend on a summary what the call itself needs', async () => {
    let asked = 0
    const { report } = await made(withTalk(20), {
      left: { maxTokens: 6_000, maxCostNanoUsd: unlimited },
      summarize: async () => ({ text: String((asked += 1)), tokens: 0, costNanoUsd: 0 }),
    })
    expect(report.by).toBe('rule')
    expect(asked).toBe(0)
  })

  it('keeps every message whole in one text, however much leaves at once', async () => {
    const messages = [...withTalk(140), says('So?'), user('Go on.')]
    const { texts, keep } = createKept()
    const model = { name: 'large', contextTokens: 100_000, maxOutputTokens: 4_000 }
    const { archives, goneTo } = await made(messages, { model, keep })
    expect(archives.length).toBeGreaterThan(1)
    const kept = [...texts.values()]
    expect(Math.max(...kept.map((text) => text.length))).toBeLessThanOrEqual(250_000)
    for (const message of messages.slice(1, goneTo))
      expect(kept.filter((text) => 'text' in message && text.includes(message.text))).toHaveLength(
        1,
      )
  })

  it('shows a model what is newest of more than it takes, the ends of each message', async () => {
    const messages = withTalk(140)
    const asked: string[] = []
    const { goneTo } = await made(messages, {
      summarize: async (request: { messages: readonly Message[] }) => {
        asked.push(...request.messages.flatMap((one) => ('text' in one ? [one.text] : [])))
        return { text: 'They move.', tokens: 10, costNanoUsd: 1 }
      },
    })
    const [, material = ''] = asked
    const newest = messages.slice(0, goneTo).findLast(({ role }) => role === 'user')
    if (newest?.role !== 'user') throw new Error('nothing has left')
    expect(material).toContain(newest.text.slice(-50))
    expect(material).not.toContain('Remember number 7000.')
    expect(tokenCounter.ofText(material)).toBeGreaterThan(room * 0.4)
    expect(tokenCounter.ofText(asked.join('\n'))).toBeLessThanOrEqual(room)
  })

  it('is as little trusted as the least of what it quotes', async () => {
    const messages = withTalk(20)
    messages.splice(4, 0, calls('c'), answer('c', 'short', 'web__read'))
    const { parts } = await made(messages)
    const summary = parts.find((part) => 'summary' in part)
    expect(summary).toMatchObject({ taint: expect.arrayContaining(['context', 'tool:web__read']) })
  })

  it('gives up what is pinned beyond the target in the written order, and says what', async () => {
    const small = { name: 'small', contextTokens: 3_000, maxOutputTokens: 1_000 }
    const decided = Array.from({ length: 8 }, (_, index) => [
      calls(`d${index}`, 'people__ask', { question: long(40) }),
      answer(`d${index}`, { approved: true, note: long(60) }, 'people__ask'),
    ]).flat()
    const messages = [rules, user(long(600)), ...decided, says('Well.'), user('On.')]
    messages.push(calls('z'), answer('z', long(900)))
    const kept = createKept()
    const built = await build(messages, { model: small, ...kept })
    expect(built.compaction?.report.unpinned).toEqual(
      expect.arrayContaining(['last_turns', 'decisions', 'goal', 'newest_results']),
    )
    expect(built.tokens).toBeLessThanOrEqual(1_000)
    expect(built.messages.at(-1)).toMatchObject({
      callId: 'z',
      output: { chars: expect.any(Number) },
    })
    expect(
      reachable(built.messages, kept.texts).inReach((messages[1] as { text: string }).text),
    ).toBe(true)
  })

  it('meets the target with a long first message of which only the ends are plain words', async () => {
    const ends = (text: string) =>
      `${'{"a":[1,2,{"b":"c"}]} '.repeat(80)}${text}${' §±'.repeat(400)}`
    for (const size of [6_000, 7_000, 8_000, 12_000]) {
      const messages = [rules, user(ends(long(size))), ...withTalk(20).slice(2)]
      const { report } = await made(messages)
      expect(report.unpinned).toContain('goal')
      expect(report.tokensAfter).toBeLessThanOrEqual(report.targetTokens)
    }
  })

  it('takes an answer that comes late out with its call, and sends nothing twice', async () => {
    const messages = withTalk(20).toSpliced(4, 0, calls('late'))
    const first = await made(messages)
    const later = [...messages, answer('late', 'It was done.'), says(long(7_000)), user('And now?')]
    const built = await build(later, { records: [first] })
    expect(built.compaction).toBeDefined()
    const sent = built.messages.map((message) => JSON.stringify(message))
    expect(new Set(sent).size).toBe(sent.length)
    expect(sent.filter((one) => one.includes('"callId":"late"'))).toHaveLength(
      sent.filter((one) => one.includes('"id":"late"')).length,
    )
  })

  it('names the identifiers that later steps named again', async () => {
    const messages = withTalk(20)
    messages.splice(
      2,
      0,
      calls('a', 'crm__find', { name: 'Bauer' }),
      answer('a', { rows: Array.from({ length: 60 }, (_, index) => `CUST-${index + 40_000}`) }),
      calls('b', 'crm__open', { id: 'CUST-40017' }),
      answer('b', 'opened'),
    )
    const built = await build(messages)
    const summary = built.messages.find(
      (message) => message.role === 'user' && message.taint.includes('context'),
    )
    expect(JSON.stringify(summary)).toContain('CUST-40017')
  })
})

describe('when it is decided', () => {
  it('is looked at only where there is a reason to', () => {
    const isNeeded = (messages: readonly Message[], more: Partial<ContextInput> = {}) =>
      contextBuilder.isNeeded(contextInput(messages, more))
    const unknown = { name: 'unknown', maxOutputTokens: 4_000 }
    expect(isNeeded(withTalk(2))).toBe(false)
    expect(isNeeded(withTalk(20))).toBe(true)
    expect(isNeeded(withTalk(20), { model: unknown })).toBe(false)
    expect(isNeeded(withTalk(2), { force: 'requested' })).toBe(true)
    const left = { maxTokens: 4_500, maxCostNanoUsd: unlimited }
    expect(isNeeded(withTalk(2), { left })).toBe(true)
  })

  it('does nothing while a call is under way', async () => {
    const messages = [...withResults(12), calls('open')]
    expect((await build(messages)).compaction).toBeUndefined()
    const answered = [...messages, answer('open', 'done')]
    expect((await build(answered)).compaction).toBeDefined()
  })

  it('rests for ten turns unless what came in would not fit any more', async () => {
    const messages = withTalk(20)
    const first = await made(messages)
    const records = [first]
    // More than it made room for came in, and still it fits.
    const much = [...messages, says('So?'), user(long(5_200))]
    const built = await build(much, { records })
    expect(built.tokens).toBeGreaterThan(12_000 * 0.8)
    expect(built.compaction).toBeUndefined()
    const tooMuch = [...much, says('So?'), user(long(2_000))]
    expect((await build(tooMuch, { records })).compaction?.report.reason).toBe('start')
    const later = Array.from({ length: 10 }, () => [says('So?'), user('Hm.')]).flat()
    expect((await build([...much, ...later], { records })).compaction?.report.reason).toBe('start')
  })

  it('is forced by a model that refused the context, whatever its window is said to be', async () => {
    const messages = withTalk(10)
    const plain = await build(messages, { model: { name: 'unknown', maxOutputTokens: 4_000 } })
    expect(plain.compaction).toBeUndefined()
    const built = await build(messages, {
      model: { name: 'unknown', maxOutputTokens: 4_000 },
      force: 'context_error',
    })
    expect(built.compaction?.report.reason).toBe('context_error')
    expect(built.tokens).toBeLessThanOrEqual(plain.tokens / 2)
  })

  it('fits a conversation into what the lease of a run can pay', async () => {
    const messages = withTalk(60)
    const big = { name: 'big', contextTokens: 200_000, maxOutputTokens: 4_096 }
    const left = { maxTokens: 30_000, maxCostNanoUsd: unlimited }
    const built = await build(messages, { model: big, left })
    expect(built.compaction?.report.reason).toBe('budget')
    expect(built.tokens * 1.25 + 4_096).toBeLessThanOrEqual(30_000)
    const price = { inputUsdPerMillion: 2, outputUsdPerMillion: 8 }
    const byCost = await build(messages, {
      model: { ...big, price },
      left: { maxTokens: unlimited, maxCostNanoUsd: 80_000_000 },
    })
    const { before, after } = byCost.compaction?.report.callCostNanoUsd ?? { before: 0, after: 0 }
    expect(after * 1.25 + 4_096 * 8_000).toBeLessThanOrEqual(80_000_000)
    expect(after).toBeLessThan(before)
  })

  it('gives up nothing that was said last for a lease that is too small: who can be asked is asked', async () => {
    const exchange = () => [user(long(2_000)), says('Noted.')]
    const messages = [rules, ...exchange(), ...exchange(), ...exchange(), user('And now?')]
    const left = { maxTokens: 4_096 + 2_500, maxCostNanoUsd: unlimited }
    const built = await build(messages, { left })
    expect(built.compaction).toBeUndefined()
    expect(built.messages).toBe(messages)
  })

  it('on request goes by what was said, however little may be spent on it', async () => {
    const messages = withTalk(10)
    const asked = { force: 'requested' as const }
    const whole = await build(messages, asked)
    const cheap = await build(messages, { ...asked, left: { maxTokens: 10, maxCostNanoUsd: 0 } })
    expect(cheap.compaction?.report).toMatchObject({
      by: 'rule',
      targetTokens: whole.compaction?.report.targetTokens,
      roomTokens: whole.compaction?.report.roomTokens,
      stayed: { lastTurns: whole.compaction?.report.stayed.lastTurns },
    })
  })

  it('makes no second record of what would free nothing', async () => {
    const messages = [rules, user(long(10_500))]
    const built = await build(messages)
    expect(built.compaction).toBeUndefined()
    expect(built.messages).toBe(messages)
  })
})

describe('a message that alone is too large (P29)', () => {
  it('is refused with the limit', async () => {
    const messages = [rules, user('Hello.'), says('Hi.'), user(long(14_000))]
    await expect(build(messages)).rejects.toMatchObject({
      code: 'request_too_large',
      message: expect.stringMatching(/takes at most 11\d{3} in one message/),
    })
  })

  it('is refused also where something else could leave, before a model is paid for a summary', async () => {
    let asked = 0
    const messages = [...withTalk(20), says('So?'), user(long(13_000))]
    const summarize = async () => ({ text: String((asked += 1)), tokens: 0, costNanoUsd: 0 })
    await expect(build(messages, { summarize })).rejects.toMatchObject({
      code: 'request_too_large',
    })
    expect(asked).toBe(0)
  })

  it('is told apart from several that are too large together, however long the instructions are', async () => {
    const several = Array.from({ length: 3 }, () => user(long(2_500)))
    const messages = [system(long(6_500)), user('Hello.'), says('Hi.'), ...several]
    // The first is the task; the others came while the run worked.
    await expect(build(messages, { taskAt: 3 })).rejects.toMatchObject({
      code: 'request_too_large',
      message: expect.stringMatching(
        /^What came in since the last answer has more than the 5\d{3}/,
      ),
    })
  })

  it('does not stand in the way of the next one, and is found behind its handle', async () => {
    const huge = `${long(14_000)} The key word is Zwiebelturm.`
    const kept = createKept()
    const messages = [rules, user(huge), user(huge), user('In short: what is the key word?')]
    const built = await build(messages, kept)
    expect(built.tokens).toBeLessThanOrEqual(room * 0.5)
    expect(reachable(built.messages, kept.texts).inReach('Zwiebelturm')).toBe(true)
    expect(built.messages.at(-1)).toBe(messages.at(-1))
  })

  it('is told apart from instructions that are', async () => {
    const messages = [system(long(13_000)), user('Hello.')]
    await expect(build(messages)).rejects.toMatchObject({ code: 'model_not_capable' })
  })
})

describe('a record', () => {
  it('gives the same bytes each time it is applied, after JSON too, and decides nothing', async () => {
    for (const messages of [withResults(12), withTalk(20)]) {
      const first = await build(messages)
      const stored = JSON.parse(JSON.stringify(first.compaction)) as Compaction
      const again = await build(messages, {
        records: [stored],
        isDecided: true,
        keep: () => Promise.reject(new Error('asked again')),
      })
      expect(JSON.stringify(again.messages)).toBe(JSON.stringify(first.messages))
      expect(again.tokens).toBe(first.tokens)
      expect(again.compaction).toBeUndefined()
    }
  })

  it('keeps the beginning of the context to the byte while messages are added', async () => {
    const messages = withTalk(20)
    const first = await build(messages)
    const records = first.compaction ? [first.compaction] : []
    const later = [...messages, says('Done.'), user('Thanks.')]
    const next = await build(later, { records })
    const before = JSON.stringify(first.messages)
    expect(JSON.stringify(next.messages).startsWith(before.slice(0, -1))).toBe(true)
  })

  it('is left alone in a branch that it was not made for', async () => {
    const messages = withTalk(20)
    const record = await made(messages)
    const branch = [...messages.slice(0, 6), user('Something else.')]
    expect((await build(branch, { records: [record] })).messages).toBe(branch)
    const rewritten = messages.with(3, user('Said otherwise.'))
    const built = await build(rewritten, { records: [record] })
    expect(built.compaction?.mark).not.toBe(record.mark)
    expect(JSON.stringify(built.messages)).not.toContain('number 7000')
  })

  it('shows the outcome that a waiting call got later', async () => {
    const messages = withTalk(20)
    const error = { code: 'tool_pending', message: 'Waiting for someone.' }
    const waiting: Message = {
      ...(answer('w', { error }) as Message & { role: 'tool' }),
      isError: true,
    }
    messages.splice(4, 0, calls('w', 'people__ask'), waiting)
    const record = await made(messages)
    const settled = messages.with(5, answer('w', 'The answer is no.'))
    const { messages: sent } = await build(settled, { records: [record] })
    expect(JSON.stringify(sent)).toContain('The answer is no.')
  })
})

describe('a crash in a compaction (I12)', () => {
  it('at any await leads to the same record as without it', async () => {
    const messages = withTalk(20).toSpliced(4, 0, calls('a'), answer('a', long(500)))
    const kept = createKept()
    const awaits = { count: 0 }
    const summary = { text: 'They move.', tokens: 10, costNanoUsd: 1 }
    const input = (crashAt: number) => {
      awaits.count = 0
      const reach = () => {
        awaits.count += 1
        if (awaits.count === crashAt) throw new Error('crash')
      }
      return {
        keep: async (text: string) => {
          reach()
          const handle = await kept.keep(text)
          reach()
          return handle
        },
        summarize: async () => {
          reach()
          return summary
        },
      }
    }
    const expected = JSON.stringify(await build(messages, input(0)))
    const total = awaits.count
    expect(total).toBeGreaterThan(2)
    for (let crashAt = 1; crashAt <= total; crashAt += 1) {
      await expect(build(messages, input(crashAt))).rejects.toThrow('crash')
      expect(JSON.stringify(await build(messages, input(0)))).toBe(expected)
    }
  })

  it.each([
    ['a model is asked', new IsolaError('model_unavailable', 'Gone.')],
    ['its request is broken off', new Error('aborted')],
  ])('ends with the reason of the signal, also while %s', async (_when, error) => {
    const stop = new AbortController()
    const building = build(withTalk(20), {
      signal: stop.signal,
      summarize: async () => {
        stop.abort(new Error('cancelled by somebody'))
        throw error
      },
    })
    await expect(building).rejects.toThrow('cancelled by somebody')
  })
})

describe('where nothing can be kept', () => {
  it('says how much, and goes on', async () => {
    const { report, archives } = await made(withTalk(20), { keep: async () => undefined })
    expect(report.left.notKept).toBeGreaterThan(0)
    expect(archives).toEqual([])
  })
})

describe('the settings of an agent', () => {
  it('are shares with a distance between them', () => {
    expect(contextSettingsSchema.parse({})).toEqual({ start: 0.8, target: 0.5 })
    expect(contextSettingsSchema.safeParse({ start: 0.5, target: 0.5 }).success).toBe(false)
    expect(contextSettingsSchema.safeParse({ start: 1 }).success).toBe(false)
  })

  it('decide when it begins and what is left', async () => {
    const messages = withTalk(12)
    expect((await build(messages)).compaction).toBeUndefined()
    const built = await build(messages, { settings: { start: 0.6, target: 0.3 } })
    expect(built.tokens).toBeLessThanOrEqual(room * 0.3)
  })
})

describe('what stays and is nearly the target by itself', () => {
  /** Calls side by side, each with an answer too short to be put behind a handle. */
  const sideBySide = (count: number): readonly Message[] => {
    const ids = Array.from({ length: count }, (_, index) => `c${index}`)
    const toolCalls = ids.map((id) => ({ id, name: 'files__read', input: { path: `/srv/${id}` } }))
    const asked = { role: 'assistant', text: '', toolCalls, taint: ['model'] } as const
    return [user('Look everywhere.'), asked, ...ids.map((id) => answer(id, long(90)))]
  }

  it('P29: has a summary that is as short as it takes to stay within it, down to the shortest', async () => {
    const over: number[] = []
    let within = 0
    for (let count = 50; count < 60; count += 1) {
      const messages = [...withTalk(22), ...sideBySide(count)]
      const { compaction, messages: sent } = await build(messages)
      const { tokensAfter, targetTokens } = compaction!.report
      const texts = sent.flatMap((one) => ('text' in one ? [one.text] : []))
      const summary = texts.find((text) => text.startsWith('[Summary'))
      // It says where everything is, and nothing else.
      const isShortest = !/\n\n(The user said|Said last|Identifiers)/.test(summary!)
      if (tokensAfter > targetTokens && !isShortest) over.push(tokensAfter - targetTokens)
      if (tokensAfter <= targetTokens) within += 1
    }
    expect(over).toEqual([])
    expect(within).toBeGreaterThan(4)
    expect(within).toBeLessThan(10)
  })
})
