import type { EventDraft } from '#contracts/event.ts'
import { saidLabel } from '#contracts/label.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import type { ToolContext } from '#contracts/tool.ts'

/** The context of one call of the orchestrator, with the events it emitted. */
export function createToolContext(
  overrides: Partial<ToolContext> = {},
): ToolContext & { readonly events: readonly EventDraft[] } {
  const events: EventDraft[] = []
  return {
    call: 'call_1',
    run: 'run_1',
    session: 'ses_root',
    rootSession: 'ses_root',
    principal: 'operator',
    agent: 'orchestrator',
    trace: '0123456789abcdef0123456789abcdef',
    depth: 0,
    ancestry: ['orchestrator'],
    options: {},
    idempotencyKey: 'run_1:call_1',
    lease: defaultAgentLimits,
    signal: new AbortController().signal,
    emit: (event) => events.push(event),
    label: saidLabel,
    events,
    ...overrides,
  }
}
