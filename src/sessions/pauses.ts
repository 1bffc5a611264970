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
function isAnswered(
  { kind, argsHash, definitionHash }: Pause,
  answer: PauseAnswer | undefined,
): boolean {
  if (answer?.kind !== 'approved') return answer !== undefined
  const isSame = answer.argsHash === argsHash && answer.definitionHash === definitionHash
  return kind === 'approval' && isSame
}

const maxOutputChars = 500_000

/** What a decision means for the call that waits. Throws `request_conflict` (it cannot be decided so) or `request_too_large`. */
export function toAnswer(decision: Decision, pause: Pause): PauseAnswer {
  const { kind, argsHash, definitionHash, tool } = pause
  switch (decision.decision) {
    case 'approve':
      if (kind !== 'approval') throw conflict('This call waits for a result, not for an approval.')
      if (decision.argsHash !== undefined && decision.argsHash !== argsHash) {
        throw conflict('The arguments are not those that were shown: read the run again.')
      }
      return { kind: 'approved', argsHash, definitionHash }
    case 'deny': {
      if (kind === 'session') throw conflict('What waits is in another session: decide there.')
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

export const conflict = (message: string) => new IsolaError('request_conflict', message)
