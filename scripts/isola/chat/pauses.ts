// Calls that wait for a person: shown, asked about, settled.
import { short } from '../text.ts'
import { decideAsks } from './questions.ts'

/** Every call that somebody has to settle in a session and below it, with whose it is. */
export function waitingIn({ id, runs, children }) {
  const own = runs.flatMap(({ id: run, state, pauses = [] }) =>
    state === 'parked' ? pauses.map((pause) => ({ session: id, run, pause })) : [],
  )
  // A pause of kind `session` is settled by that session, which is among the children.
  return [...own.filter(({ pause }) => pause.kind !== 'session'), ...children.flatMap(waitingIn)]
}

/** What a person's words say about a waiting call; `undefined` is that nobody is there. */
export function decisionFor({ kind, argsHash }, words) {
  const text = words?.trim()
  if (kind === 'question') {
    return words === undefined
      ? { decision: 'deny', message: 'Nobody is there to answer.' }
      : { decision: 'result', output: text }
  }
  // What goes in circles goes on with a yes.
  if (kind === 'budget' && !/^y(es)?$/i.test(text ?? '')) return { decision: 'deny' }
  if (kind === 'budget') return { decision: 'approve' }
  if (kind !== 'approval') return { decision: 'error', message: 'This client runs no tools.' }
  if (text === undefined) return { decision: 'deny', message: 'Nobody is there to decide.' }
  // An approval holds for the arguments that were shown, so the hash goes with it.
  if (/^y(es)?$/i.test(text)) return { decision: 'approve', argsHash }
  return { decision: 'deny', ...(text !== '' && !/^no?$/i.test(text) && { message: text }) }
}

/** The question, as it is put to a person. */
export const questionOf = ({ kind, tool, input, about, reached }) =>
  kind === 'budget'
    ? {
        text: `? ${reached.message}`,
        prompt: 'yes to go on, or no> ',
      }
    : kind === 'question'
      ? { text: `? ${input.question ?? short(input)}`, prompt: 'answer> ' }
      : {
          text: `? ${tool} wants to run with ${JSON.stringify(input)}${about ? `\n  ${short(about, 2_000)}` : ''}`,
          prompt: 'yes, no, or why not> ',
        }

/** 40, 2.5, $2.50 or 1,500; `undefined` for what may be meant otherwise, such as 1,5. */
function amountOf(words) {
  const text = words.trim().replace(/^\$/, '')
  const isNumber = /^(\d{1,15}|\d{1,3}(,\d{3}){1,4})(\.\d+)?$/.test(text)
  const amount = isNumber ? Number(text.replaceAll(',', '')) : 0
  return amount > 0 ? amount : undefined
}

/** Asks until there is a limit or a no: a slip neither ends the run nor allows it more than was meant. Costs are US dollars. */
async function decideLimit({ call, reached }, { ask, note, signal }) {
  for (;;) {
    const words = await ask('a new limit, or no> ')
    if (signal.aborted) return { isUnanswered: false }
    if (words === undefined || /^no?$/i.test(words.trim()))
      return { decision: { call, decision: 'deny' }, isUnanswered: words === undefined }
    const amount = amountOf(words)
    if (amount !== undefined)
      return { limit: { [reached.limit.replace('NanoUsd', 'Usd')]: amount }, isUnanswered: false }
    note(`! ${short(words, 40) || 'Nothing'} is no limit: a number such as 40 or 2.5, or no.`)
  }
}

/** What is decided about one waiting call; no decision if the person left. */
async function decide(pause, { ask, note, signal }) {
  if (pause.kind === 'question' && pause.asks) return decideAsks(pause, { ask, note, signal })
  const { call } = pause
  if (pause.kind === 'client_tool')
    return { decision: { call, ...decisionFor(pause) }, isUnanswered: false }
  const { text, prompt } = questionOf(pause)
  note(text)
  if (pause.reached?.limit) return decideLimit(pause, { ask, note, signal })
  const words = await ask(prompt)
  if (signal.aborted) return { isUnanswered: false }
  return { decision: { call, ...decisionFor(pause, words) }, isUnanswered: words === undefined }
}

/**
 * Asks about each call that waits, and says what was decided.
 * @param ask Resolves to a person's words, to undefined at the end of the input.
 * @returns How many calls waited, and whether there was nobody to ask.
 */
export async function settlePauses(tree, { request, ask, note, signal }) {
  let isUnanswered = false
  const waiting = waitingIn(tree)
  const count = waiting.length
  for (const { session, run, pause } of waiting) {
    const { decision, limit, isUnanswered: isNobody } = await decide(pause, { ask, note, signal })
    isUnanswered ||= isNobody
    if (!(decision || limit) || signal.aborted) return { count, isUnanswered }
    const path = `/api/sessions/${session}/runs/${run}/${limit ? 'limits' : 'decisions'}`
    try {
      await request(path, { method: 'POST', json: limit ?? decision })
    } catch (error) {
      // Somebody else was quicker, it expired, the day has less, or it is no such limit: the run tells, or is asked about again.
      if (![400, 403, 404, 409].includes(error.status)) throw error
      note(`! ${error.message}`)
    }
  }
  return { count, isUnanswered }
}
