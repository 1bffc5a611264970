import { defined } from '#contracts/defined.ts'
import type { AgentResult, AgentSpec, FinalState } from '#contracts/agent.ts'
import type { TurnRecord } from './journal.ts'
import type { JsonObject } from '#contracts/json.ts'
import { contextLabel, toTurnSaid } from './turn-said.ts'
import { addUsage, zeroUsage } from '#contracts/lease.ts'

/** How a run ended, and its result. */
export interface RunEnding {
  readonly state: FinalState
  /** If absent, the text of the turns is the result. */
  readonly result?: string
  readonly output?: JsonObject
  readonly code?: string
  readonly message?: string
  /** For the record only. */
  readonly detail?: string
}

interface EndedRun {
  readonly run: string
  readonly session: string
  readonly trace: string
  readonly startedAtMs: number
  readonly agent: Pick<AgentSpec, 'id' | 'provenance'>
  readonly ending: RunEnding
  readonly turns: readonly TurnRecord[]
  readonly finishedAtMs: number
}

/** Adds up the turns into the one result of a run. A run that did not complete keeps its texts. */
export function toAgentResult(ended: EndedRun): AgentResult {
  const { run, session, trace, startedAtMs, agent, ending, turns, finishedAtMs } = ended
  const usage = turns.reduce((sum, turn) => addUsage(sum, turn.usage), zeroUsage)
  const modelCalls = turns.flatMap((turn) => turn.modelCalls)
  const models = [...new Set(modelCalls.map(({ provider, model }) => `${provider}/${model}`))]
  const said = turns.map((turn) => toTurnSaid(turn).text).filter((text) => text !== '')
  return {
    id: run,
    success: ending.state === 'completed',
    state: ending.state,
    result: ending.result ?? said.join('\n\n'),
    ...(ending.state === 'completed' && finishReasonOf(turns.at(-1))),
    ...defined({ output: ending.output }),
    ...(ending.code && { error: { code: ending.code, message: ending.message ?? '' } }),
    // A turn without texts counts too: the reason of its end may be in a stranger's words.
    label: contextLabel([
      ...turns.filter(({ label }) => label),
      ...turns.flatMap((turn) => toTurnSaid(turn).messages),
    ]),
    startedAtMs,
    finishedAtMs: Math.max(startedAtMs, finishedAtMs),
    sessionId: session,
    agent: agent.id,
    trace,
    steps: turns.filter(({ steps }) => steps.length > 0).length,
    actions: turns.flatMap(({ calls }) =>
      calls.map(({ id, tool, outcome, durationMs }) => ({
        callId: id,
        tool,
        ok: outcome?.ok ?? false,
        ...(outcome && !outcome.ok && { code: outcome.error.code }),
        durationMs: durationMs ?? 0,
      })),
    ),
    modelCalls,
    usage,
    costEstimateUsd: usage.costNanoUsd / 1e9,
    provenance: { ...agent.provenance, models },
  }
}

function finishReasonOf(turn: TurnRecord | undefined): Pick<AgentResult, 'finishReason'> {
  const finish = turn?.steps.find((step) => step.type === 'finish')
  const reason = finish?.type === 'finish' ? finish.reason : undefined
  return reason === 'length' || reason === 'content_filter' ? { finishReason: reason } : {}
}
