import type { AgentPin } from '#runtime/kernel/types/agent-pin.ts'
import { toRunOptions } from '../types/run-options.ts'
import { type RunOptions } from '#contracts/run-options.ts'
import type { ReadyAgent, SessionRuntime } from '../types/runtime.ts'
import type { Submission } from '../types/submission.ts'
import { personaOf } from '../storage/session-row.ts'
import type { SessionRow } from '../storage/stored-rows.ts'

/**
 * Loads the agent of a submission with the options of that submission; `undefined` if there is no such agent.
 *
 * @param from.session Its persona goes before the persona of the key.
 * @param from.pin The pin of the run, for a run that has begun.
 */
export async function loadAgent(
  submission: Pick<Submission, 'agent' | 'lineage' | 'keyPersona' | 'principal'> & RunOptions,
  { agents }: Pick<SessionRuntime, 'agents'>,
  {
    session,
    pin,
  }: { readonly session?: SessionRow | undefined; readonly pin?: AgentPin | undefined },
): Promise<ReadyAgent | undefined> {
  // Direct calls and compactions need no persona.
  const isSilent = submission.directCall !== undefined || submission.compact !== undefined
  const persona = isSilent ? undefined : ((session && personaOf(session)) ?? submission.keyPersona)
  const { lineage, principal } = submission
  const use = { lease: lineage?.lease, pinned: pin?.agent, persona, principal }
  const ready = await agents.load(submission.agent, toRunOptions(submission), use)
  return ready && pin ? { ...ready, pin } : ready
}
