import { defined } from '#contracts/defined.ts'
import { asksForYes } from '#runtime/kernel/types/asks.ts'
import type { Answers, Askable, Question } from '../types/follow-run.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { PauseView, RunView } from '../types/run-view.ts'

const capabilities: ReadonlyMap<string, Question['kind']> = new Map([
  ['elicit', 'elicitation'],
  ['sample', 'sampling'],
  ['roots', 'roots'],
])

/**
 * The questions of a parked run to its client. Other pauses (an approval, a sub-agent) are no questions, nor is a question
 * whose answer needs the right to approve, for a client without that right.
 */
export function questionsOf({ pauses = [] }: RunView, mayApprove: boolean): readonly Question[] {
  const asking = pauses.filter(
    (pause) => pause.asks !== undefined && (mayApprove || !asksForYes(pause)),
  )
  return asking.flatMap((pause) =>
    Object.entries(pause.asks ?? {}).flatMap(([own, asked]) =>
      toQuestion(pause, { own, asked, isAlone: asking.length === 1 }),
    ),
  )
}

function toQuestion(
  { call, asksHash = '' }: PauseView,
  { own, asked, isAlone }: { own: string; asked: JsonObject; isAlone: boolean },
): readonly Question[] {
  const kind = capabilities.get(String(asked['kind']))
  if (!kind) return []
  const request = toRequest(kind, asked)
  const isOptional = asked['optional'] === true
  const key = isAlone ? own : `${call}.${own}`
  return [{ key, call, own, asksHash, kind, isOptional, request }]
}

function toRequest(kind: Question['kind'], asked: JsonObject): JsonObject {
  const { message = '', problem, schema = {}, messages = [], maxTokens = 0 } = asked
  const { system, temperature } = asked
  switch (kind) {
    case 'elicitation': {
      const text = problem === undefined ? message : `${String(message)} (${String(problem)})`
      const params = { mode: 'form', message: text, requestedSchema: schema }
      return { method: 'elicitation/create', params }
    }
    case 'sampling':
      return {
        method: 'sampling/createMessage',
        params: {
          messages,
          maxTokens,
          ...defined({ systemPrompt: system, temperature }),
        },
      }
    case 'roots':
      return { method: 'roots/list' }
  }
}

/** The questions without an answer, divided by whether the client can be asked. */
export function openQuestions(asks: readonly Question[], can: Askable, given: Answers) {
  const open = asks.filter(({ key }) => !Object.hasOwn(given, key))
  return {
    possible: open.filter(({ kind }) => can[kind] !== undefined),
    impossible: open.filter(({ kind, isOptional }) => can[kind] === undefined && !isOptional),
  }
}

/** The answers of each waiting call, by its own keys; `null` for an optional question that the client cannot answer. */
export function answersByCall(
  asks: readonly Question[],
  given: Answers,
): ReadonlyMap<string, JsonObject> {
  const byCall = new Map<string, JsonObject>()
  for (const { key, call, own, kind } of asks) {
    const answer = Object.hasOwn(given, key) ? toAnswer(kind, given[key]) : null
    byCall.set(call, { ...byCall.get(call), [own]: answer })
  }
  return byCall
}

/** The answer as the client sent it; the tool that asked checks its shape. */
const toAnswer = (kind: Question['kind'], answer: unknown): Json =>
  (kind === 'roots' ? (Object(answer).roots ?? []) : answer) as Json // it came as JSON
