import { describe, expect, it } from 'vitest'
import type { Message } from '#contracts/message.ts'
import {
  answer,
  calls,
  createKept,
  prose,
  reachable,
  says,
  steps,
  system,
  user,
} from '../../fakes/context.ts'
import { oldestFirst } from '../../fakes/chooser.ts'
import { createRandom } from '../../fakes/random.ts'

type Random = ReturnType<typeof createRandom>
type Kind = 'recall' | 'artefact' | 'decision' | 'continuation'
interface Fact {
  readonly kind: Kind
  readonly text: string
  readonly at: number
}

const code = (random: Random): string => {
  const digits = String(random.int(10_000, 99_999))
  return [`ORD-${digits}`, `/var/data/${digits}/report.csv`, `user_${digits}@mail.example`][
    random.int(0, 2)
  ] as string
}

/** A conversation of many turns, plain and with tools, with facts of four kinds in it. */
function conversation(seed: number, turns: number) {
  const random = createRandom(seed)
  const messages: Message[] = [system('Follow the house rules.')]
  const facts: Fact[] = []
  const plant = (kind: Kind, text: string) => facts.push({ kind, text, at: messages.length })
  messages.push(user(`Goal ${seed}: close the books of ${prose(random, 20)}.`))
  for (let turn = 0; turn < turns; turn += 1) {
    const id = `call_${random.int(1, 9)}`
    if (random.chance(0.3)) {
      const word = `We say ${prose(random, 3)} ${random.int(1e6, 1e7)}`
      plant('recall', word)
      messages.push(user(`${prose(random, random.int(2, 200))}. ${word}. ${prose(random, 20)}`))
    }
    if (random.chance(0.2)) {
      const found = code(random)
      plant('artefact', found)
      const rows = Array.from({ length: random.int(1, 40) }, () => code(random))
      messages.push(calls(id, 'crm__find', { turn }), answer(id, { rows: [...rows, found] }))
      messages.push(calls(`${id}b`, 'crm__open', { key: found }), answer(`${id}b`, 'ok'))
    } else if (random.chance(0.1)) {
      const chosen = `plan ${random.int(1e6, 1e7)}`
      plant('decision', chosen)
      messages.push(calls(id, 'people__ask', { turn }), answer(id, { approved: true, chosen }))
    } else {
      const parallel = random.int(1, 4)
      const ids = Array.from({ length: parallel }, (_, index) => `${id}_${index}`)
      const made = ids.map((one) => ({ id: one, name: 'files__read', input: { turn } }))
      messages.push({ role: 'assistant', text: '', toolCalls: made, taint: ['model'] })
      for (const one of ids) messages.push(answer(one, prose(random, random.int(5, 900))))
    }
    const next = `then I take ${prose(random, 2)} ${random.int(1e6, 1e7)}`
    plant('continuation', next)
    messages.push(says(`${prose(random, random.int(5, 200))}; ${next}.`))
  }
  messages.push(user('Go on.'))
  return { messages, facts }
}

/** Places of calls that have no answer behind them, and of answers that have no call before them. */
function unpaired(messages: readonly Message[]): number {
  const open = new Set<string>()
  let orphans = 0
  for (const message of messages) {
    if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) open.add(id)
    if (message.role === 'tool' && !open.delete(message.callId)) orphans += 1
  }
  return open.size + orphans
}

const windows = [8_000, 16_000, 64_000]
const cases = Array.from({ length: 12 }, (_, index) => ({
  seed: index + 1,
  contextTokens: windows[index % windows.length] ?? 16_000,
  withModel: index % 2 === 0,
}))

/** Enough for archives to be joined many times. */
const turns = 250

/** The deciders about what stays: the built-in one, and a plugin that has the oldest leave. One suite for both (P17). */
const deciders = [
  { who: 'built in', own: cases, more: {} },
  { who: 'a plugin', own: cases.slice(0, 5), more: { choose: oldestFirst } },
]

describe.each(deciders)(
  'a generated conversation, fitted by $who (P29, C6)',
  ({ who, own, more: by }) => {
    it.each(own)(
      'stays in its window of $contextTokens and loses nothing (seed $seed, model $withModel)',
      async ({ seed, contextTokens, withModel }) => {
        const maxOutputTokens = contextTokens / 8
        const room = contextTokens - maxOutputTokens
        const { messages, facts } = conversation(seed, contextTokens > 16_000 ? 120 : 40)
        const kept = createKept()
        let last: { at: number; sent: readonly Message[]; after: number } | undefined
        let compactions = 0
        const model = { name: 'm', contextTokens, maxOutputTokens }
        const summarize = async () => ({ text: 'Notes.', tokens: 100, costNanoUsd: 5 })
        const more = { ...by, model, keep: kept.keep, ...(withModel && { summarize }) }
        for await (const { at, sent, tokens, made } of steps(messages, more)) {
          expect(unpaired(sent)).toBe(0)
          expect(tokens).toBeLessThanOrEqual(room)
          expect(sent[0]).toEqual(messages[0])
          expect(sent.at(-1)).toMatchObject({ role: messages[at - 1]?.role })
          if (made) {
            compactions += 1
            expect(made.report.tokensAfter).toBeLessThan(made.report.tokensBefore)
            expect(tokens).toBeLessThanOrEqual(contextTokens / 2)
            expect(made.report.left.notKept).toBe(0)
            expect(made.report.chosenBy).toBe(who === 'a plugin' ? 'chooser' : undefined)
            expect(made.report.notChosen).toBeUndefined()
            const turns = last
              ? messages.slice(last.at, at).filter(({ role }) => role === 'assistant').length
              : Infinity
            const came = made.report.tokensBefore - (last?.after ?? 0)
            expect(turns >= 10 || came >= room * 0.3).toBe(true)
            last = { at, sent, after: tokens }
            const { inReach } = reachable(sent, kept.texts)
            expect(facts.filter((fact) => fact.at < at && !inReach(fact.text))).toEqual([])
          } else if (last) {
            const prefix = JSON.stringify(last.sent).slice(0, -1)
            expect(JSON.stringify(sent).startsWith(prefix)).toBe(true)
          }
        }
        expect(compactions).toBeGreaterThan(0)
      },
    )

    it('of many turns never fails in 16,000 tokens, with few handles and ever the same size', async () => {
      const { messages } = conversation(99, turns)
      const kept = createKept()
      let most = 0
      let handles = 0
      for await (const { sent, tokens, made } of steps(messages, { ...by, keep: kept.keep })) {
        most = Math.max(most, tokens)
        if (made) expect(tokens).toBeLessThanOrEqual(8_000)
        if (made) handles = made.archives.flatMap((one) => one.handles).length
        expect(sent.length).toBeLessThan(200)
      }
      expect(most).toBeLessThanOrEqual(12_000)
      expect(handles).toBeLessThanOrEqual(24)
    })
  },
)
