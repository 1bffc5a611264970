import type * as z from 'zod'
import type { permission } from '#contracts/manifest/agent-definition-schema.ts'
import type { onDemandDefinition } from './agent-definition-schema.ts'
import type { AgentDefinition } from '#contracts/manifest/agent-definition.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import { parseManifest } from '#runtime/catalog/types/manifest.ts'
import { defined } from '#contracts/defined.ts'
import { toLimits } from '#runtime/catalog/types/agent-limits.ts'
import { defaultAgentLimits } from '#contracts/default-limits.ts'
import type { AgentNeed } from '#runtime/session/types/agent-definition.ts'

/** A permission on another principal's agent; `run` and `edit` include `see`. */
export type AgentPermission = z.infer<typeof permission>

export type OnDemandDefinition = z.infer<typeof onDemandDefinition>

/** The file that the instructions of a definition would be in. */
export const instructionsFile = 'instructions'

type About = Pick<AgentDefinition, 'id' | 'name' | 'description' | 'natural_language_description'>

/** A definition as a manifest of its own, so that what runs agents of plugins runs it. */
export const toManifest = (
  { agent, ...about }: About & Pick<AgentDefinition, 'agent'>,
  hash: string,
): Manifest => manifestOf(about, agent, hash)

/** The same for an agent whose definition was not read: from the fields of its head. */
export const headManifest = (
  { integration_mode, ...about }: About & Pick<AgentDefinition['agent'], 'integration_mode'>,
  hash: string,
): Manifest => manifestOf(about, { integration_mode, model: 'default' }, hash)

function manifestOf(
  { id, name, description, natural_language_description: natural }: About,
  agent: Partial<AgentDefinition['agent']>,
  hash: string,
): Manifest {
  return parseManifest(
    {
      id,
      name,
      description,
      ...defined({ natural_language_description: natural }),
      version: `1.0.0-${hash.slice(0, 12)}`,
      agent: { ...agent, instructions: instructionsFile },
    },
    `agent ${id}`,
  )
}

/** Limits beyond those that an agent has who says nothing of them. */
function longerLimits({ limits }: AgentDefinition['agent']): readonly string[] {
  const asked = toLimits(limits)
  const names = {
    max_turns: 'maxTurns',
    max_tokens_per_invocation: 'maxTokens',
    time_budget_ms: 'maxTimeMs',
    max_tool_calls: 'maxToolCalls',
    max_depth: 'maxDepth',
    max_concurrency: 'maxConcurrency',
    max_children: 'maxChildren',
  } as const
  return Object.entries(names).flatMap(([name, ours]) =>
    asked[ours] > defaultAgentLimits[ours] ? [`${name} ${asked[ours]}`] : [],
  )
}

/** The lines of an ACL, one for each principal or role. */
export const sharedWith = ({
  roles: byRole,
  principals,
}: AgentDefinition['acl']): readonly string[] => [
  ...Object.entries(byRole).map(([role, may]) => `role ${role}: ${may.join(', ')}`),
  ...Object.entries(principals).map(([name, may]) => `${name}: ${may.join(', ')}`),
]

/** The needs of a definition that an operator has to allow. Its tools are checked where the catalog is at hand. */
export function needsOf({ agent, acl }: AgentDefinition): readonly AgentNeed[] {
  const { memory, allow_skill_emission: emits } = agent
  return [
    ...longerLimits(agent).map((what) => ({ kind: 'limit', what }) as const),
    ...sharedWith(acl).map((what) => ({ kind: 'share', what }) as const),
    ...(memory?.scope.includes('deployment')
      ? [{ kind: 'memory', what: 'deployment' } as const]
      : []),
    ...(emits ? [{ kind: 'skills', what: 'allow_skill_emission' } as const] : []),
  ]
}

/**
 * The changes that only the owner may decide when another principal applies a definition: whom the agent is shared
 * with, and every schedule and subscription, since these run in the owner's name, by the owner's key.
 *
 * @param now The definition in force; absent: there is none.
 */
export function ownersMatters(
  next: AgentDefinition,
  now: AgentDefinition | undefined,
): readonly AgentNeed[] {
  const { acl, schedule: asked, agent } = next
  const matters = {
    schedule: asked !== undefined || now?.schedule !== undefined,
    subscribes: Boolean(agent.subscribes?.length || now?.agent.subscribes?.length),
    acl:
      sharedWith(acl).toSorted().join('\n') !==
      (now ? sharedWith(now.acl) : []).toSorted().join('\n'),
  }
  return Object.entries(matters).flatMap(([what, isOne]) =>
    isOne ? [{ kind: 'owner' as const, what }] : [],
  )
}
