import type { Json, JsonObject } from '#contracts/json.ts'
import type { Message, ToolCall } from '#contracts/message.ts'
import type { Domain } from './domains.ts'
import type { Draw } from './draw.ts'
import type { Format, Planted } from './formats.ts'
import type { Language } from './languages.ts'
import { factsEach, type PlannedFact } from './plan.ts'
import type { Fact, PinReason } from './types.ts'

/** A fact that has a place; what becomes of it is filled in as the conversation goes on. */
export type PlacedFact = {
  -readonly [Key in keyof Fact]: Fact[Key]
} & { readonly plan: PlannedFact; namedAgain: number[]; nextAt: number[] }

export interface Answer {
  readonly output: Json
  readonly isError?: boolean
}

/** A call and what it is answered with. */
export interface Exchange extends Answer {
  readonly name: string
  readonly input: JsonObject
}

/** The conversation so far, and the facts that are still to be planted in it. */
export interface Conversation {
  readonly draw: Draw
  readonly domain: Domain
  readonly language: Language
  readonly messages: Message[]
  readonly placed: PlacedFact[]
  readonly decided: { callId: string; at: number }[]
  readonly waiting: { readonly callId: string; readonly at: number; readonly fact: PlacedFact }[]
  /** How long the next result should be, in characters. */
  readonly resultChars: () => number
  /** Facts whose time has come, at most so many; they have to be placed then. */
  readonly take: (most: number, isWanted: (plan: PlannedFact) => boolean) => readonly PlannedFact[]
  readonly hasMore: () => boolean
}

/** The longest result: Isola keeps a longer one behind a handle before any window is made. */
export const maxResultChars = 23_500

export function createConversation(options: {
  readonly draw: Draw
  readonly domain: Domain
  readonly language: Language
  readonly plan: readonly PlannedFact[]
  readonly messages: number
  readonly chars: number
}): Conversation {
  const { draw, domain, language, plan } = options
  const toPlant = [...plan]
  const messages: Message[] = []
  const placed: PlacedFact[] = []
  let [counted, chars] = [0, 0]
  const resultChars = () => {
    for (; counted < messages.length; counted += 1)
      chars += JSON.stringify(messages[counted]).length
    const results = Math.max(1, (options.messages - messages.length) * 0.5)
    const size = (draw.pick(sizes) * Math.max(0, options.chars - chars)) / results
    // Now and then one that fills a small window alone.
    return draw.chance(0.02) ? maxResultChars : Math.min(maxResultChars, Math.max(80, size))
  }
  const take: Conversation['take'] = (most, isWanted) => {
    const taken: PlannedFact[] = []
    for (let at = 0; at < toPlant.length && taken.length < most; at += 1) {
      const fact = toPlant[at]!
      if (fact.due > messages.length && messages.length < options.messages) break
      // A user corrects only what they have said, and not in the same breath.
      const isCorrectable =
        fact.corrects === undefined || ![...toPlant, ...taken].includes(fact.corrects)
      if (!isWanted(fact) || !isCorrectable) continue
      taken.push(fact)
      toPlant.splice(at, 1)
      at -= 1
    }
    return taken
  }
  const hasMore = () => messages.length < options.messages || placed.length < factsEach
  const begun = { messages, placed, decided: [], waiting: [] }
  return { draw, domain, language, ...begun, resultChars, take, hasMore }
}
/** Many are short, few are long; 1 on the average. */
const sizes = [0.1, 0.2, 0.4, 0.7, 1, 1.6, 3]

/** Says where a fact stands. Its strings are the subject and the value; of an id, the id alone. */
export function place(
  { placed }: Conversation,
  plan: PlannedFact,
  { at, pinned }: { readonly at: number; readonly pinned?: { reason: PinReason; from: number } },
): PlacedFact {
  const { kind, form, subject, value } = plan
  const strings = kind === 'artefact' ? [value] : [subject, value]
  const fact: PlacedFact = {
    kind,
    form,
    at,
    strings,
    plan,
    cue: subject,
    namedAgain: [],
    nextAt: [],
    ...(pinned && { pinned }),
  }
  placed.push(fact)
  return fact
}

/** One model step with its calls and their answers, in an order of their own. */
export function addTurn(
  { draw, messages }: Conversation,
  text: string,
  exchanges: readonly Exchange[],
): readonly { readonly callId: string; readonly at: number }[] {
  const calls = exchanges.map((exchange) => ({ exchange, id: `call_${draw.slug(14)}` }))
  messages.push({
    role: 'assistant',
    text,
    ...(calls.length > 0 && {
      toolCalls: calls.map(({ exchange: { name, input }, id }): ToolCall => ({ id, name, input })),
    }),
    taint: ['model'],
  })
  return calls.map(({ exchange: { name, output, isError = false }, id }) => {
    messages.push({ role: 'tool', callId: id, name, output, isError, taint: [`tool:${name}`] })
    return { callId: id, at: messages.length - 1 }
  })
}

/** An output of about so many characters, with what is planted at its head, in its middle or at its tail. */
export function makeOutput(
  draw: Draw,
  format: Format,
  { chars, planted }: { readonly chars: number; readonly planted: readonly Planted[] },
): Json {
  const parts: Json[] = []
  for (let length = 0; length < chars;) {
    const part = format.part(draw)
    parts.push(part)
    length += (typeof part === 'string' ? part : JSON.stringify(part)).length + 1
  }
  for (const one of planted) {
    const at = draw.pick([0, Math.floor(parts.length / 2), parts.length, draw.int(0, parts.length)])
    parts.splice(at, 0, format.planted(one, draw))
  }
  return format.whole(parts)
}
