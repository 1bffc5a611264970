import { headOf } from '#contracts/cut.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { TokenCounter } from '#contracts/context.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { AgentDirectory, AgentUse, ReadyAgent } from '#runtime/session/types/runtime.ts'
import {
  maxPersonaTokens,
  type IsThere,
  type Persona,
  type SkillLibrary,
} from '#runtime/catalog/types/skill.ts'
import type { Toolset } from '#contracts/tool.ts'
import { orchestratorId } from './orchestrator.ts'
import type { PrepareRun } from './pinned-agent.ts'
import type { StoredAgents } from './stored/wire-stored.ts'
import type { WiredAgents } from './wire-agents.ts'

/** One generation, as far as a load needs it. */
interface LoadableGeneration {
  readonly wired: Pick<WiredAgents, 'agents' | 'orchestrator'>
  readonly stored: Pick<StoredAgents, 'find' | 'prepare' | 'withStored'>
}

export interface LoadAgentDeps extends Omit<PersonaDeps, 'isThere'> {
  /** The generation in force. May throw. */
  readonly inForce: () => Promise<LoadableGeneration>
  /** The same, asked of the Catalog now. May throw. */
  readonly newest: () => Promise<LoadableGeneration>
  /** Adds the tools and answers that the client of one run supplies. */
  readonly withOutside: (toolset: Toolset, options: RunOptions) => Toolset
}

/** The agent and the run that it is loaded for. */
interface LoadRequest {
  readonly agent: string
  readonly options: RunOptions
  readonly use: AgentUse
}

/** An agent that a generation has. */
interface FoundAgent {
  readonly generation: LoadableGeneration
  readonly prepareRun: PrepareRun
}

/** Loads an agent for one run, step by step. */
export function createAgentLoader(deps: LoadAgentDeps): AgentDirectory['load'] {
  return async (agent, options, use = {}) => {
    const request: LoadRequest = { agent, options, use }
    const found =
      (await findAgent(await deps.inForce(), request)) ??
      // A plugin that was enabled a moment ago is in a generation that this isolate has not read yet.
      (await findAgent(await deps.newest(), request))
    if (!found) return undefined
    const persona = await choosePersona(found, request, deps)
    const ready = prepareRun(found, persona, request)
    return { ...ready, toolset: addRunTools(ready.toolset, found, request, deps) }
  }
}

/**
 * Finds the agent: a definition for one request, an agent of a plugin, or a stored agent that the principal may run.
 */
async function findAgent(
  generation: LoadableGeneration,
  { agent, options: { onDemand }, use: { principal } }: LoadRequest,
): Promise<FoundAgent | undefined> {
  const { wired, stored } = generation
  const find = async (): Promise<PrepareRun | undefined> => {
    if (principal === undefined) return wired.agents.get(agent)
    if (onDemand) return (await stored.prepare(onDemand, principal)).prepareRun
    return wired.agents.get(agent) ?? (await stored.find(agent, principal))?.prepareRun
  }
  const prepareRun = await find()
  return prepareRun && { generation, prepareRun }
}

/** Chooses the persona. A run that continues keeps the persona of its pin. */
async function choosePersona(
  { generation }: FoundAgent,
  { agent, options, use }: LoadRequest,
  deps: Omit<PersonaDeps, 'isThere'>,
): Promise<WantedPersona | undefined> {
  if (use.pinned) return undefined
  const { isThere } = generation.wired.orchestrator
  const wanted = { asked: options.persona, otherwise: use.persona }
  return personaFor(agent, wanted, { ...deps, isThere })
}

/** Applies the options, the lease and the pin of the run. */
function prepareRun(
  found: FoundAgent,
  persona: WantedPersona | undefined,
  { options, use }: LoadRequest,
): ReadyAgent {
  if (persona?.text !== undefined)
    return found.generation.wired.orchestrator.as(persona)(options, use)
  const ready = found.prepareRun(options, use)
  // The record keeps the name of a persona that the run cannot have.
  return persona ? { ...ready, spec: { ...ready.spec, persona } } : ready
}

/**
 * Adds the tools of this run alone: the tools of its client and, for the orchestrator, the stored agents that its
 * principal may call. Any other agent has exactly the tools that it names, in code mode too (Y15).
 */
function addRunTools(
  toolset: Toolset,
  { generation }: FoundAgent,
  { agent, options, use: { principal } }: LoadRequest,
  { withOutside }: Pick<LoadAgentDeps, 'withOutside'>,
): Toolset {
  const withClient = withOutside(toolset, options)
  return principal === undefined || agent !== orchestratorId
    ? withClient
    : generation.stored.withStored(withClient, principal)
}

/** The name that means: no persona, whatever the session or the key says. */
const noPersona = 'none'

/** How a persona is looked up and measured. */
interface PersonaDeps {
  /** Absent: there are no personas. */
  readonly persona?: SkillLibrary['persona'] | undefined
  /** Whether the orchestrator has the tools that a persona requires. */
  readonly isThere: IsThere
  readonly count: Pick<TokenCounter, 'ofText'>
}

/** A persona; without a text where a session or a key names one that cannot be used. */
type WantedPersona = Persona | { readonly name: string; readonly text?: never }

/**
 * The persona of a run: the one that the request names, else that of its session or key. A persona that a request names
 * and cannot have is `request_invalid`; a default is passed over, so that the run goes on.
 */
async function personaFor(
  agent: string,
  {
    asked,
    otherwise,
  }: { readonly asked: string | undefined; readonly otherwise: string | undefined },
  deps: PersonaDeps,
): Promise<WantedPersona | undefined> {
  const name = asked ?? otherwise
  if (name === undefined || name === noPersona) return undefined
  if (asked === undefined) {
    if (agent !== orchestratorId) return undefined
    const found = await lookUp(name, deps).catch(() => undefined)
    return found?.persona ?? { name }
  }
  if (agent !== orchestratorId)
    throw invalid(`${agent} speaks as its manifest says; the orchestrator alone takes a persona`)
  const { persona, problem } = await lookUp(name, deps)
  if (persona) return persona
  throw invalid(problem)
}

type LookedUp =
  | { readonly persona: Persona; readonly problem?: never }
  | { readonly persona?: never; readonly problem: string }

async function lookUp(
  name: string,
  { persona: find, count, isThere }: PersonaDeps,
): Promise<LookedUp> {
  const { persona, missing, names } = (await find?.(name, isThere)) ?? { names: [] }
  if (missing) return { problem: `${name} needs what is not here: ${missing.join(', ')}` }
  if (!persona) {
    const there = [...names, noPersona].join(', ')
    return { problem: `there is no persona "${headOf(name, 64)}" here; there are: ${there}` }
  }
  const tokens = count.ofText(persona.text)
  return tokens > maxPersonaTokens
    ? { problem: `${name} has ${tokens} tokens; ${maxPersonaTokens} are the most` }
    : { persona }
}

const invalid = (why: string) =>
  new IsolaError('request_invalid', `persona: ${why}.`, { param: 'persona' })
