import type { AgentOverrides } from '#contracts/runtime.ts'
import type { RunRow } from '../storage/store.ts'

/** What a submission asks of its agent. */
export function overridesOf({
  model,
  parameters,
  clientInstructions,
  lineage,
  clientTools,
  mayAsk,
  requireApproval,
  directCall,
}: RunRow['submission']): AgentOverrides {
  return {
    ...(model !== undefined && { model }),
    ...(parameters && { parameters }),
    ...(clientInstructions !== undefined && { clientInstructions }),
    ...(lineage && { lease: lineage.lease }),
    ...(clientTools && { clientTools }),
    ...(mayAsk !== undefined && { mayAsk }),
    ...(requireApproval && { requireApproval }),
    ...(directCall && { directCall }),
  }
}
