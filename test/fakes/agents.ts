import { createAgentLoader, type LoadAgentDeps } from '../../src/features/agents/load-agent.ts'
import { wireAgents, type AgentWiringDeps } from '../../src/features/agents/wire-agents.ts'

export type OpenAgentsOptions = AgentWiringDeps & Pick<LoadAgentDeps, 'persona' | 'withOutside'>

/** Wires these parts as the one generation of a deployment without stored agents, and loads agents from it. */
export function openAgents(options: OpenAgentsOptions) {
  const wired = wireAgents(options)
  const stored = {
    find: async () => undefined,
    prepare: () => Promise.reject(new Error('no stored agents')),
    withStored: <Tools>(toolset: Tools) => toolset,
  }
  const generation = async () => ({ wired, stored })
  const load = createAgentLoader({ ...options, inForce: generation, newest: generation })
  return { ...wired, directory: { ...wired.directory, load } }
}
