import { IsolaError } from '#contracts/errors.ts'
import type { PlannerState } from '#runtime/kernel/types/plan.ts'
import type { HookSubject, HookVerdict, ToolHooks } from '#runtime/kernel/types/policy.ts'
import type { ToolResult } from '#contracts/tool.ts'
import { createCollector } from './collector.ts'
import type { Hooks } from './create-hooks.ts'

/** The hooks and agents of the generation in force. */
export interface WiredNow {
  readonly hooks: Hooks
  readonly directory: { readonly list: () => readonly { readonly name: string }[] }
}

/**
 * The hooks of the generation in force: switching a plugin on or off applies to running runs too. So does switching
 * off their agent, which then calls no model and no tool any more, wherever it runs.
 */
export function createLiveHooks(
  now: () => Promise<WiredNow>,
  mayRun: MayRun = async () => false,
): Required<Hooks> {
  const hooksFor = async ({ agent, caller }: Planning): Promise<Hooks> => {
    const wired = await now()
    if (!(await isThere(wired, agent.id, caller.principal, mayRun)))
      throw new IsolaError('model_denied', switchedOff)
    return wired.hooks
  }
  return {
    tools: createLiveToolHooks(now, mayRun),
    around: (planner) => ({
      plan: async (state) => (await hooksFor(state)).around(planner).plan(state),
    }),
    aroundSummary: (state) => async (request) =>
      (await hooksFor(state)).aroundSummary(state)(request),
    // These two hooks are only informed, and their failure must not fail anything.
    subAgentStopped: async (...told) =>
      now()
        .then(({ hooks }) => hooks.subAgentStopped?.(...told))
        .catch(() => {}),
    sessionEnded: async (ended) =>
      now()
        .then(({ hooks }) => hooks.sessionEnded?.(ended))
        .catch(() => {}),
  }
}

const switchedOff = 'This agent was switched off.'

type Planning = Pick<PlannerState, 'agent' | 'caller'>
/** Whether an agent outside of plugins may run for a principal now. */
type MayRun = (agent: string, principal: string) => Promise<boolean>

const isThere = async (
  { directory }: WiredNow,
  agent: string,
  principal: string,
  mayRun: MayRun,
): Promise<boolean> =>
  directory.list().some(({ name }) => name === agent) || mayRun(agent, principal)

interface Finished {
  readonly subject: HookSubject
  readonly result: ToolResult
}

/** Reads the generation once for all calls of a turn, so that a plugin still gets them in one call. */
function createLiveToolHooks(now: () => Promise<WiredNow>, mayRun: MayRun): ToolHooks {
  const before = createCollector<HookSubject, HookVerdict>(async (subjects) => {
    const wired = await now()
    return Promise.all(
      subjects.map(async (subject): Promise<HookVerdict> => {
        if (!(await isThere(wired, subject.agent, subject.principal, mayRun)))
          return { veto: true, message: switchedOff }
        return wired.hooks.tools.before(subject)
      }),
    )
  })
  const after = createCollector<Finished, ToolResult>(async (finished) => {
    const { hooks } = await now()
    return Promise.all(finished.map(({ subject, result }) => hooks.tools.after(subject, result)))
  })
  return {
    before: (subject) => before(subject.signal, subject),
    after: (subject, result) => after(subject.signal, { subject, result }),
  }
}
