import type { HookSubject, HookVerdict, ToolHooks } from '#contracts/policy.ts'
import type { ToolResult } from '#contracts/tool.ts'
import { createCollector } from './collector.ts'
import type { Hooks } from './create-hooks.ts'

/** The hooks of whatever is enabled at the moment: what is switched on or off holds for runs under way too. */
export function createLiveHooks(now: () => Promise<Hooks>): Required<Hooks> {
  return {
    tools: createLiveToolHooks(now),
    around: (planner) => ({
      plan: async (state) => (await now()).around(planner).plan(state),
    }),
    subAgentStopped: async (...told) => (await now()).subAgentStopped?.(...told),
    sessionEnded: async (ended) => (await now()).sessionEnded?.(ended),
  }
}

interface Finished {
  readonly subject: HookSubject
  readonly result: ToolResult
}

/** Looked up once for the calls of a turn, so that they still come to a plugin together. */
function createLiveToolHooks(now: () => Promise<Hooks>): ToolHooks {
  const before = createCollector<HookSubject, HookVerdict>(async (subjects) => {
    const { tools } = await now()
    return Promise.all(subjects.map((subject) => tools.before(subject)))
  })
  const after = createCollector<Finished, ToolResult>(async (finished) => {
    const { tools } = await now()
    return Promise.all(finished.map(({ subject, result }) => tools.after(subject, result)))
  })
  const keyOf = ({ session, run }: HookSubject) => `${session}/${run}`
  return {
    before: (subject) => before(keyOf(subject), subject),
    after: (subject, result) => after(keyOf(subject), { subject, result }),
  }
}
