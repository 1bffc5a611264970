import { headOf } from '#contracts/cut.ts'
import type { AgentResult } from '#contracts/agent.ts'
import { toHolderResult } from '../types/holder-result.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { ToolResult } from '#contracts/tool.ts'
import type { Child } from '../storage/children.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { Errand } from '../storage/todo.ts'

/** Whom the end of a run concerns besides its reader. Written with its last turn: after a crash nobody else would know. */
export function errandsOf(
  { id, submission, inbox = [] }: RunRow,
  {
    turns,
    final,
    children,
  }: {
    readonly turns: readonly TurnRecord[]
    readonly final: AgentResult
    readonly children: readonly Child[]
  },
): readonly Errand[] {
  const { lineage } = submission
  const events = turns.flatMap((turn) => turn.events)
  const isAwaited = lineage && (lineage.isBackground || events.some(isParking))
  const outcome: Errand[] = isAwaited
    ? [
        {
          kind: 'deliver',
          session: lineage.parentSession,
          delivery: {
            parentRun: lineage.parentRun,
            call: lineage.parentCall,
            agent: final.agent,
            session: final.sessionId,
            isBackground: lineage.isBackground ?? false,
            // Whoever stops the work does not begin other work by that.
            ...(final.state !== 'cancelled' && lineage.onOutcome && { onOutcome: 'run' }),
            result: short(toHolderResult(final, submission)),
          },
        },
      ]
    : []
  if (final.state === 'completed') return outcome
  const cancels = children
    // Of one in the background the outcome may have come.
    .filter(({ call }) => !inbox.some((item) => item.call === call))
    .filter((child) => mayWork(child, turns))
    // What works in the background outlives its run, but not a cancel.
    .filter(({ isBackground }) => !isBackground || final.state === 'cancelled')
    .map(({ session, call }): Errand => {
      return {
        kind: 'cancel',
        session,
        run: id,
        call,
        reason: 'The run that asked for it has ended.',
      }
    })
  return [...outcome, ...cancels]
}

/** The session of the sub-agent that an event is about, if it is about one. */
const childOf = ({ data }: SessionEvent): string | undefined =>
  'session' in data ? data.session : undefined

/** A child that was noted may have been refused before it began, or have told what came of it. */
function mayWork({ session, call }: Child, turns: readonly TurnRecord[]): boolean {
  const told = turns
    .flatMap(({ events }) => events)
    .filter((event) => childOf(event) === session)
    .map(({ type }) => type)
  if (told.includes('agent_result')) return false
  const record = turns.flatMap(({ calls }) => calls).find(({ id }) => id === call)
  return told.includes('agent_invoked') || !record?.outcome
}

const maxDeliveredChars = 400_000

/** It has to fit a row here and there; the whole of it stays in this session. */
function short(result: ToolResult): ToolResult {
  const text = result.ok ? JSON.stringify(result.output) : result.error.message
  if (text.length <= maxDeliveredChars) return result
  const cut = `${headOf(text, maxDeliveredChars)} [cut: the session has all ${text.length} characters]`
  return result.ok
    ? { ...result, output: cut }
    : { ...result, error: { ...result.error, message: cut } }
}

const isParking = ({ type }: { readonly type: string }) => type === 'run_parked'
