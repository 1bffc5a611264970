import { defined } from '#contracts/defined.ts'
import { toLimits, toNanoUsd, type AgentManifest } from '#runtime/catalog/types/permit.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { unlimited } from '#contracts/lease.ts'
import type { InnerReach, ToolEntry } from '#contracts/tool.ts'
import type { CapabilityDeps } from '../capabilities/capability-deps.ts'
import { newIsolateNanoUsd } from '../capabilities/granted-isolate.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'

/** The parts of an entry that say what its code may spend. */
export type InnerSpending = Pick<ToolEntry, 'spends' | 'inner' | 'feeNanoUsd'>

/** Placeholder until the directory of agents, which knows all tools, sets the tools of `uses_tools`. */
const nothing: InnerReach['resolve'] = () => undefined

const noTools = { maxTokens: 0, maxTurns: 0, maxToolCalls: 0, maxChildren: 0 }

/** What a plugin's tool may spend: on models its grant, on other tools the default limits of an agent. */
export function spendingOfTool(
  { manifest, granted }: LoadedPlugin,
  timeoutMs: number,
): InnerSpending {
  const model = granted.model && {
    maxTokens: granted.model.max_tokens,
    maxCostNanoUsd: toNanoUsd(granted.model.max_cost_usd),
  }
  const callsTools = manifest.uses_tools.length > 0
  const isolates = granted.isolate ? newIsolateNanoUsd : 0
  if (!model && !callsTools && isolates === 0) return {}
  const base = { ...defaultAgentLimits, ...(!callsTools && noTools) }
  return {
    spends: {
      ...base,
      maxTokens: base.maxTokens + (model?.maxTokens ?? 0),
      maxCostNanoUsd: callsTools
        ? unlimited
        : Math.min(unlimited, isolates + (model?.maxCostNanoUsd ?? 0)),
      maxTimeMs: timeoutMs,
    },
    inner: { resolve: nothing, children: 0, ...defined({ model }) },
  }
}

/** The lease of an agent with code of its own: the `limits` of its section, for models and tools together. */
export function spendingOfAgent({ limits }: AgentManifest): InnerSpending {
  const spends = toLimits(limits)
  return { spends, inner: { resolve: nothing, children: 1, model: spends } }
}

/** Adds the price of the isolate to what the code may spend. */
export function withIsolateFee(
  { parts }: LoadedPlugin,
  spending: InnerSpending,
  { meter }: CapabilityDeps,
): InnerSpending {
  const { spends } = spending
  if (!meter || meter.priceNanoUsd === 0 || !parts.isolateId) return spending
  if (!spends) return { ...spending, feeNanoUsd: meter.priceNanoUsd }
  const maxCostNanoUsd = Math.min(unlimited, spends.maxCostNanoUsd + meter.priceNanoUsd)
  return { ...spending, spends: { ...spends, maxCostNanoUsd } }
}
