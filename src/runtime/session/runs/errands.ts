import { headOf } from '#contracts/cut.ts'
import type { AgentResult } from '#contracts/agent.ts'
import { toHolderResult } from '../types/holder-result.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { ToolResult } from '#contracts/tool.ts'
import type { Child } from '../storage/children.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { Errand } from '../storage/todo.ts'

/** The errands that the end of a run makes. They are written with its last turn, so that a crash loses none. */
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
            // A cancel does not begin other work.
            ...(final.state !== 'cancelled' && lineage.onOutcome && { onOutcome: 'run' }),
            result: short(toHolderResult(final, submission)),
          },
        },
      ]
    : []
  if (final.state === 'completed') return outcome
  const cancels = children
    // The outcome of a background child may have arrived.
    .filter(({ call }) => !inbox.some((item) => item.call === call))
    .filter((child) => mayWork(child, turns))
    // A background child outlives the run, but not a cancel.
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

/** A noted child may have been refused before it began, or may have given its result. */
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

/** The result has to fit a row in both sessions; this session keeps the whole of it. */
function short(result: ToolResult): ToolResult {
  const text = result.ok ? JSON.stringify(result.output) : result.error.message
  if (text.length <= maxDeliveredChars) return result
  const cut = `${headOf(text, maxDeliveredChars)} [cut: the session has all ${text.length} characters]`
  return result.ok
    ? { ...result, output: cut }
    : { ...result, error: { ...result.error, message: cut } }
}

const isParking = ({ type }: { readonly type: string }) => type === 'run_parked'
