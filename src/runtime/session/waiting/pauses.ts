import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { clientSource, labelFrom, saidLabel } from '#contracts/label.ts'
import {
  answersIn,
  type Decision,
  type Pause,
  type PauseAnswer,
} from '#runtime/kernel/types/pause.ts'
import type { Asks, ToolResult, AskAnswers } from '#contracts/tool.ts'
import { asksHashOf, type Hash, pausesOf, type RunRow } from '../storage/stored-rows.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import { loadAgent } from '../runs/run.ts'
import { pinnedIn } from '../storage/session-row.ts'
import type { SessionStore } from '../storage/store.ts'

const maxOutputChars = 500_000

/**
 * The answer that a decision gives to the waiting call.
 *
 * @param options.before An earlier answer to the same call: its approval and its answers add up with this one.
 * Throws `request_conflict` (it cannot be decided so), `request_invalid` or `request_too_large`.
 */
export function toAnswer(
  decision: Decision,
  pause: Pause,
  { before, sha256 }: { readonly before?: PauseAnswer | undefined; readonly sha256: Hash },
): PauseAnswer {
  const { kind, argsHash, definitionHash, tool, asks, reached } = pause
  switch (decision.decision) {
    case 'approve': {
      if (kind === 'budget') {
        if (reached?.limit) throw conflict('A limit was reached: raise it with POST …/limits.')
        return { kind: 'approved', argsHash, definitionHash }
      }
      if (kind !== 'approval') throw conflict('This call waits for a result, not for an approval.')
      if (decision.argsHash !== undefined && decision.argsHash !== argsHash) {
        throw conflict('The arguments are not those that were shown: read the run again.')
      }
      const answers = answersIn(before)
      return { kind: 'approved', argsHash, definitionHash, ...defined({ answers }) }
    }
    case 'deny': {
      if (kind === 'session') throw conflict('What waits is in another session: decide there.')
      const { message = 'The person who was asked said no.' } = decision
      return outcome({ ok: false, error: { code: 'tool_denied', message }, label: saidLabel })
    }
    case 'result': {
      if (kind !== 'question' && kind !== 'client_tool')
        throw conflict('This call is not answered from outside.')
      const { output } = decision
      if (JSON.stringify(output).length > maxOutputChars) throw tooLarge()
      if (asks) {
        checkAsked(decision.asksHash, asksHashOf(pause, sha256))
        return withAnswersTo(asks, output, before)
      }
      // A client's program may return text that it has read; a person's answer is that person's own.
      const label = kind === 'question' ? saidLabel : labelFrom(clientSource(tool))
      return outcome({ ok: true, output, taint: ['user', `tool:${tool}`], label })
    }
    case 'error': {
      if (kind !== 'client_tool') throw conflict('Only a tool of the client can fail there.')
      const error = { code: 'tool_failed', message: decision.message } as const
      return outcome({ ok: false, error, label: labelFrom(clientSource(tool)) })
    }
  }
}

/** An answer holds for the question that was shown, not for a later question under the same key. */
function checkAsked(shown: string | undefined, asked: string): void {
  if (shown === undefined) {
    const message = 'asksHash: must be that of the pause whose `asks` are answered.'
    throw new IsolaError('request_invalid', message, { param: 'asksHash' })
  }
  if (shown !== asked)
    throw conflict('The call asks for something else than was shown: read the run again.')
}

const tooLarge = (): IsolaError => {
  const message = `output: at most ${maxOutputChars} characters of JSON.`
  return new IsolaError('request_too_large', message, { param: 'output' })
}

/** Stores each answer beside its question; the call waits on for missing answers. */
function withAnswersTo(asks: Asks, output: Json, before: PauseAnswer | undefined): PauseAnswer {
  const given = Object.entries(Object(output) as JsonObject)
  const isByKey = typeof output === 'object' && !Array.isArray(output) && given.length > 0
  const unknown = given.find(([key]) => !Object.hasOwn(asks, key))?.[0]
  if (!isByKey || unknown !== undefined) {
    const keys = Object.keys(asks).join(', ')
    throw new IsolaError('request_invalid', `output: must have an answer by key, of ${keys}.`, {
      param: 'output',
    })
  }
  const fresh = given.map(([key, answer]) => [key, { asked: asks[key]!, answer }] as const)
  const answers: AskAnswers = { ...answersIn(before), ...Object.fromEntries(fresh) }
  if (JSON.stringify(answers).length > maxOutputChars) throw tooLarge()
  return before?.kind === 'approved' ? { ...before, answers } : { kind: 'answered', answers }
}

export const outcome = (result: ToolResult): PauseAnswer => ({ kind: 'outcome', result })

/** The calls without a decision in time, each with its outcome. */
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

interface AgentThereOptions {
  readonly runtime: Pick<SessionRuntime, 'agents'>
  readonly current: { readonly parts: { readonly store: SessionStore } }
}

/**
 * A decision wakes a run, and a run without its agent fails for good. So while an agent is disabled, or a new
 * version of it waits for a grant, its runs go on waiting. Throws `request_conflict`.
 */
export async function refuseWithoutAgent(
  row: RunRow,
  { runtime, current }: AgentThereOptions,
): Promise<void> {
  const { store } = current.parts
  const { submission, order } = row
  if (store.final(order) || pausesOf(row, store.turns(order).at(-1)).length === 0) return
  if (await loadAgent(submission, runtime, { pin: pinnedIn(row, store) })) return
  throw conflict(
    `The agent "${submission.agent}" is not enabled: it was disabled or removed, or a new version ` +
      'of it waits for a grant. The run goes on waiting; once the agent is enabled, decide again.',
  )
}
