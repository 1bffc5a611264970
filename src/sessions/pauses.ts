import { IsolaError } from '#contracts/errors.ts'
import type { CallRecord, TurnRecord } from '#contracts/journal.ts'
import type { Decision, Pause, PauseAnswer } from '#contracts/pause.ts'
import type { PauseView } from '#contracts/session.ts'
import type { ToolResult } from '#contracts/tool.ts'
import type { RunRow } from './store.ts'

/** What a run waits for, if it waits: no call of its open turn has anything else to do. */
export function pausesOf(row: RunRow, last: TurnRecord | undefined): readonly Pause[] {
  if (!last || last.isDone || row.cancelReason !== undefined) return []
  const open = last.calls.filter(({ outcome }) => !outcome)
  return open.every((call) => isWaiting(call, row)) ? open.flatMap(({ pause }) => pause ?? []) : []
}

export function toView(pause: Pause, pauseMs: number): PauseView {
  return pause.expires ? { ...pause, expiresAtMs: pause.sinceMs + pauseMs } : pause
}

const isWaiting = ({ id, pause }: CallRecord, { answers }: RunRow): boolean =>
  pause !== undefined && !isAnswered(pause, answers?.[id])

/** An approval of other arguments than those that would be run is none, and no answer to anything else. */
function isAnswered({ kind, argsHash }: Pause, answer: PauseAnswer | undefined): boolean {
  if (answer?.kind !== 'approved') return answer !== undefined
  return kind === 'approval' && answer.argsHash === argsHash
}

const maxOutputChars = 500_000

/**
 * What a decision means for the call that waits. Throws `request_not_found`, `request_conflict` (it cannot be decided
 * so, or was decided otherwise) or `request_too_large`.
 */
export function answerFor(
  decision: Decision,
  {
    row,
    last,
    call,
  }: { readonly row: RunRow; readonly last?: TurnRecord | undefined; readonly call: string },
): { readonly answer: PauseAnswer; readonly isNew: boolean } {
  const known = row.answers?.[call]
  const pause = last?.calls.find(({ id }) => id === call)?.pause
  if (!pause) {
    throw new IsolaError('request_not_found', 'This run has no such call waiting.', {
      param: 'call',
    })
  }
  const answer = toAnswer(decision, pause)
  if (!known || !isAnswered(pause, known)) return { answer, isNew: true }
  if (JSON.stringify(known) === JSON.stringify(answer)) return { answer, isNew: false }
  throw conflict('This call was decided already, and otherwise.')
}

function toAnswer(decision: Decision, { kind, argsHash, tool }: Pause): PauseAnswer {
  switch (decision.decision) {
    case 'approve':
      if (kind !== 'approval') throw conflict('This call waits for a result, not for an approval.')
      if (decision.argsHash !== undefined && decision.argsHash !== argsHash) {
        throw conflict('The arguments are not those that were shown: read the run again.')
      }
      return { kind: 'approved', argsHash }
    case 'deny': {
      const { message = 'The person who was asked said no.' } = decision
      return outcome({ ok: false, error: { code: 'tool_denied', message } })
    }
    case 'result': {
      if (kind !== 'question' && kind !== 'client_tool')
        throw conflict('This call is not answered from outside.')
      const { output } = decision
      if (JSON.stringify(output).length > maxOutputChars) {
        const message = `output: at most ${maxOutputChars} characters of JSON.`
        throw new IsolaError('request_too_large', message, { param: 'output' })
      }
      return outcome({ ok: true, output, taint: ['user', `tool:${tool}`] })
    }
    case 'error': {
      if (kind !== 'client_tool') throw conflict('Only a tool of the client can fail there.')
      return outcome({ ok: false, error: { code: 'tool_failed', message: decision.message } })
    }
  }
}

export const outcome = (result: ToolResult): PauseAnswer => ({ kind: 'outcome', result })

/** The calls nobody decided in time, each with its outcome. */
export function expiredOf(
  pauses: readonly Pause[],
  nowMs: number,
  pauseMs: number,
): Readonly<Record<string, PauseAnswer>> {
  const message = 'Nobody decided in time, so it was not done.'
  const expired = pauses.filter(({ expires, sinceMs }) => expires && sinceMs + pauseMs <= nowMs)
  const answer = outcome({ ok: false, error: { code: 'tool_expired', message } })
  return Object.fromEntries(expired.map(({ call }) => [call, answer]))
}

const conflict = (message: string) => new IsolaError('request_conflict', message)
