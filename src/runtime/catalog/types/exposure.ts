import * as z from 'zod'
import { diffLines, type LineDiff } from '#contracts/line-diff.ts'

const name = z.string().min(1).max(200)
const id = z
  .string()
  .max(64)
  .regex(/^[a-z0-9][a-z0-9_-]*$/i, 'must be the id of a plugin or server')
/** No bare `*`: it would expose tools that are installed later and that no operator named. */
const tools = z
  .string()
  .max(100)
  .regex(
    // At most 100 characters, since the text may be split at many places.
    /^[A-Za-z0-9][A-Za-z0-9_-]{0,96}__(\*|[A-Za-z0-9_-]{1,97})$/,
    'must be a tool (kv__get) or all of one plugin (kv__*)',
  )
/** As URIs need it: a name that a client cannot write in a URI is not offered. */
const skills = z
  .string()
  .regex(
    /^(?!.*--)[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/,
    'must be the name of a skill: lowercase letters, digits and single hyphens',
  )

/**
 * The tools, agents and skills that MCP clients are offered, set by an operator. It offers only named things, so later
 * installations are not offered by themselves. A caller's key limits the offer further. Unknown keys are refused.
 */
export const exposureSchema = z.strictObject({
  /** Agents, each as one tool of its name. */
  agents: z.array(name).max(100).default(['orchestrator']),
  /** Tools that are called without a model: full names, or `<id>__*`. */
  tools: z.array(tools).max(500).default([]),
  /** Plugins and servers whose resources are listed and read. */
  resources: z.array(id).max(100).default([]),
  /** Plugins and servers whose prompts are listed and filled in. */
  prompts: z.array(id).max(100).default([]),
  /** Skills that are resources, prompts and skills there. */
  skills: z.array(skills).max(100).default([]),
  /** The same, and also under `/.well-known/agent-skills` for anyone, without a key. */
  public_skills: z.array(skills).max(100).default([]),
  /** The tools among `tools` that are offered without their owner's name: `get` for `kv__get`. */
  bare_names: z.array(tools).max(500).default([]),
})

/** Which agents and tools are offered at `/mcp`. */
export type Exposure = z.infer<typeof exposureSchema>

/** The names of all skills that MCP clients are offered. */
export const offeredSkills = ({
  skills,
  public_skills: open,
}: Pick<Exposure, 'skills' | 'public_skills'>): readonly string[] =>
  [...new Set([...skills, ...open])].toSorted()

/** Before an operator says anything: the orchestrator alone. */
export const defaultExposure: Exposure = exposureSchema.parse({})

/** A choice as lines, each of which says one thing. */
export function exposureLines(exposure: Exposure): readonly string[] {
  const { agents, tools: named, resources, prompts, bare_names: bare } = exposure
  return [
    ...agents.map((one) => `agent ${one}`),
    ...named.map((one) => `tool ${one}`),
    ...resources.map((one) => `resources of ${one}`),
    ...prompts.map((one) => `prompts of ${one}`),
    ...bare.map((one) => `${one} by its bare name`),
    ...exposure.skills.map((one) => `skill ${one}`),
    ...exposure.public_skills.map((one) => `skill ${one}, for anybody without a key`),
  ]
}

/** The lines that a new choice changes. */
export const exposureDiff = (before: Exposure, after: Exposure): LineDiff =>
  diffLines(exposureLines(before), exposureLines(after), 0)

/** An exposure without one plugin or server, after that is removed. */
export function withoutOwner(exposure: Exposure, id: string): Exposure {
  const isOthers = (name: string) => name.split('__', 1)[0] !== id
  const { agents, tools: named, resources, prompts, bare_names: bare } = exposure
  return {
    ...exposure,
    agents: agents.filter((name) => name !== id),
    tools: named.filter(isOthers),
    resources: resources.filter(isOthers),
    prompts: prompts.filter(isOthers),
    bare_names: bare.filter(isOthers),
  }
}

/** The same of a skill. */
export const withoutSkill = (exposure: Exposure, name: string): Exposure => ({
  ...exposure,
  skills: exposure.skills.filter((one) => one !== name),
  public_skills: exposure.public_skills.filter((one) => one !== name),
})
