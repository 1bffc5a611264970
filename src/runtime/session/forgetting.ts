import { IsolaError } from '#contracts/errors.ts'
import type { ForgottenText } from '#contracts/forgotten-text.ts'
import { createWithoutWords } from './log/without-words.ts'
import { refuseAtWork } from './runs/refusals.ts'
import type { Scope } from './scope.ts'

/** Takes what was forgotten elsewhere out of what was said here. */
export interface Forgetting {
  /**
   * Texts that go, wherever they are quoted: what tools answered, what a model was reminded of and said, what is kept
   * behind handles. What its owner wrote stays. Summaries of such a conversation go whole, since they may say it in
   * other words: the next run makes one anew. Throws `request_conflict` while something is under way.
   *
   * `agent`: what runs were begun with of this session's own agent, whose maker is erased: its name, its instructions
   * and all that it was. The agent is gone, so nothing goes on with it; what waits may wait.
   *
   * @returns How many rows were changed.
   */
  readonly forgetTexts: (
    principal: string,
    texts: readonly ForgottenText[] | 'agent',
  ) => { readonly changed: number }
}

export function createForgetting(scope: Scope): Forgetting {
  const { parts, own } = scope
  return {
    forgetTexts(principal, texts) {
      own(principal)
      const { store, transcript, runs } = parts()
      if (texts === 'agent') {
        if (runs.isIdle()) return { changed: store.rewrite([withoutPin]) }
        throw new IsolaError('request_conflict', 'A run works here: it is asked again.')
      }
      refuseAtWork(parts())
      const without = createWithoutWords(texts)
      const changed = store.rewrite([(value) => mapped(value, without), withoutSummaries])
      transcript.forget()
      return { changed }
    },
  }
}

/** What a run was begun with; what it is called by stays. */
function withoutPin(value: unknown): unknown {
  const { pin } = Object(value) as { readonly pin?: { readonly agent?: unknown } }
  if (pin?.agent === undefined) return value
  const { agent: _gone, ...rest } = pin
  return { ...(value as object), pin: rest }
}

type Fields = Readonly<Record<string, unknown>>

/** Reminders and what came back are in the user's role, too, with another taint. */
const isTyped = ({ role, taint }: Fields): boolean =>
  role === 'user' && Array.isArray(taint) && taint.every((one) => one === 'user')

function mapped(value: unknown, without: (text: string) => string): unknown {
  if (typeof value === 'string') return without(value)
  if (Array.isArray(value)) return value.map((one) => mapped(one, without))
  if (typeof value !== 'object' || value === null || isTyped(value as Fields)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      isStructure(name, one, value as Fields) ? one : mapped(one, without),
    ]),
  )
}

/** Fields whose value is one word of ours, an id or a moment: what reads the rows goes by them. */
const structural =
  /^(id|.*Id|state|type|role|code|kind|status|run|session|agent|principal|trace|call|tool|provider|model|finishReason|outcome|taint|.*Hash|echo|echoes)$/
const isOneWord = (value: unknown): boolean =>
  typeof value === 'string' && /^[\w.:/-]+$/.test(value)

/** `name` is a tool's in a call, and a person's elsewhere. */
const isStructure = (name: string, value: unknown, { input }: Fields): boolean =>
  (structural.test(name) || (name === 'name' && input !== undefined)) &&
  (isOneWord(value) || (Array.isArray(value) && value.every(isOneWord)))

function withoutSummaries(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('compactions' in value)) return value
  const { compactions: _gone, ...turn } = value
  return turn
}
