// Calls that wait for a person: shown, asked about, settled.
import { ApiError, type Client } from '../../src/client/client.ts'
import { defined } from '../../src/contracts/defined.ts'
import { argumentsOf, factsOf } from '../approval-text.ts'
import { short } from '../text.ts'
import type { Tree } from '../whole-tree.ts'
import type { Decided, Decision, Pause, Person } from './questions.ts'
import { decideAsks } from './questions.ts'

/** A pause, with whose it is. */
export interface Waiting {
  readonly session: string
  readonly run: string
  readonly pause: Pause
}

/** The fields of a session and its sub-agents' sessions that name waiting calls. */
export interface Sessions {
  readonly id: string
  readonly runs: readonly Pick<Tree['runs'][number], 'id' | 'state' | 'pauses'>[]
  readonly children: readonly Sessions[]
}

/** Every call that waits for a person in a session and below it, with its session and run. */
export function waitingIn({ id, runs, children }: Sessions): Waiting[] {
  const own = runs.flatMap(({ id: run, state, pauses = [] }) =>
    state === 'parked' ? pauses.map((pause) => ({ session: id, run, pause })) : [],
  )
  // A pause of kind `session` is settled by that session, which is among the children.
  return [...own.filter(({ pause }) => pause.kind !== 'session'), ...children.flatMap(waitingIn)]
}

const isYes = (text: string) => /^y(es)?$/i.test(text)
const isNo = (text: string | undefined) => /^no?$/i.test(text?.trim() ?? '')

/** Why nothing was answered, where the input is a pipe. */
const ended = 'The input of the chat had ended, so no person answered.'

/** The decision that a person's words make about a waiting call; `undefined`: no person is there. */
function decisionFor({ call, kind, argsHash }: Pause, words?: string): Decision {
  const text = words?.trim()
  const deny = (message?: string): Decision => ({ call, decision: 'deny', ...defined({ message }) })
  if (kind === 'question')
    return text === undefined
      ? deny('No person is there to answer.')
      : { call, decision: 'result', output: text }
  if (kind !== 'approval' && kind !== 'budget')
    return { call, decision: 'error', message: 'This client runs no tools.' }
  if (text === undefined) return deny(kind === 'budget' ? ended : 'No person is there to decide.')
  // A suspected loop goes on with a yes.
  if (kind === 'budget') return isYes(text) ? { call, decision: 'approve' } : deny()
  // An approval holds for the arguments that were shown, so the hash goes with it.
  const approve = { call, decision: 'approve', argsHash } as const
  if (isYes(text)) return approve
  if (/^s(ession)?$/i.test(text)) return { ...approve, also: 'session' }
  if (/^a(lways)?$/i.test(text)) return { ...approve, also: 'always' }
  return deny(text === '' || isNo(text) ? undefined : text)
}

/** The question, as it is put to a person. */
export function questionOf(pause: Pick<Pause, 'kind' | 'tool' | 'input'> & Partial<Pause>) {
  const { kind, tool, input, reached } = pause
  if (kind === 'budget') return { text: `? ${reached?.message}`, prompt: 'yes to go on, or no> ' }
  if (kind === 'question')
    return { text: `? ${input.question ?? short(input)}`, prompt: 'answer> ' }
  const asked = `? ${tool} wants to run with ${argumentsOf(input)}`
  return { text: [asked, ...factsOf(pause)].join('\n  '), prompt: approvalPrompt }
}

/** A rule holds for exactly these arguments, in this session or wherever this agent works for this principal. */
const approvalPrompt = 'y: once, s: in this session, a: always, n: no, or why not> '

/** 40, 2.5, $2.50 or 1,500; `undefined` for what may be meant otherwise, such as 1,5. */
function amountOf(words: string): number | undefined {
  const text = words.trim().replace(/^\$/, '')
  const isNumber = /^(\d{1,15}|\d{1,3}(,\d{3}){1,4})(\.\d+)?$/.test(text)
  const amount = isNumber ? Number(text.replaceAll(',', '')) : 0
  return amount > 0 ? amount : undefined
}

/**
 * Asks until there is a limit or a no: a slip neither ends the run nor allows it more than was meant. Costs are US
 * dollars.
 */
async function decideLimit(pause: Pause, limit: string, person: Person): Promise<Decided> {
  for (;;) {
    const words = await person.ask('a new limit, or no> ')
    if (person.signal.aborted) return { isUnanswered: false }
    if (words === undefined || isNo(words))
      return { decision: decisionFor(pause, words), isUnanswered: words === undefined }
    const amount = amountOf(words)
    if (amount !== undefined)
      return { limit: { [limit.replace('NanoUsd', 'Usd')]: amount }, isUnanswered: false }
    person.note(
      `! ${short(words, 40) || 'Nothing'} is no limit: a number such as 40 or 2.5, or no.`,
    )
  }
}

/** Decides about one waiting call; no decision if the person left. */
async function decide(pause: Pause, person: Person): Promise<Decided> {
  const { ask, note, signal } = person
  if (pause.kind === 'question' && pause.asks) return decideAsks(pause, person)
  if (pause.kind === 'client_tool') return { decision: decisionFor(pause), isUnanswered: false }
  const { text, prompt } = questionOf(pause)
  note(text)
  const { limit } = pause.reached ?? {}
  if (limit) return decideLimit(pause, limit, person)
  const words = await ask(prompt)
  const why =
    person.isTerminal && pause.kind === 'approval' && isNo(words) && !signal.aborted
      ? (await ask('why, for the model; nothing if there is nothing to say> '))?.trim()
      : undefined
  if (signal.aborted) return { isUnanswered: false }
  const decision = decisionFor(pause, words)
  return {
    decision: why ? { call: pause.call, decision: 'deny', message: why } : decision,
    isUnanswered: words === undefined,
  }
}

/**
 * Asks about each call that waits, and says what was decided.
 * @returns How many calls waited, and whether a question found no person.
 */
export async function settlePauses(
  tree: Sessions,
  { request, ...person }: Person & Pick<Client, 'request'>,
) {
  const { note, signal } = person
  let isUnanswered = false
  const waiting = waitingIn(tree)
  const count = waiting.length
  for (const { session, run, pause } of waiting) {
    const { decision, limit, isUnanswered: isNobody } = await decide(pause, person)
    isUnanswered ||= isNobody
    if (!(decision || limit) || signal.aborted) return { count, isUnanswered }
    const params = { id: session, run }
    try {
      if (limit) await request('POST /api/sessions/:id/runs/:run/limits', { params, body: limit })
      else if (decision) {
        await request('POST /api/sessions/:id/runs/:run/decisions', { params, body: decision })
        const isRule = decision.decision === 'approve' && decision.also !== undefined
        if (isRule) note('  From now on it is not asked about (isola approval rules, revoke).')
      }
    } catch (error) {
      // Another person was quicker, the call expired, or the limit is refused: the run says so, or asks again.
      if (!(error instanceof ApiError && [400, 403, 404, 409].includes(error.status))) throw error
      note(`! ${error.message}`)
    }
  }
  return { count, isUnanswered }
}
