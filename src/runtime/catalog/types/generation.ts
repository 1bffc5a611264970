import * as z from 'zod'
import { diffLines, type LineDiff } from '#contracts/line-diff.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { McpPin } from './mcp.ts'
import type { Permit } from './permit.ts'
import { defaultToolPolicy, type ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'

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

/** An enabled plugin that was installed, as a generation has it. */
export interface PluginPin {
  readonly id: string
  readonly hash: string
  readonly version: string
  readonly tier: Exclude<TrustTier, 'builtin'>
  readonly permit: Permit
  /** Raised by each change of the permit: work under an older number is ended. */
  readonly grantEpoch: number
  readonly config: JsonObject
  /** Its code runs its agent; found out when it was enabled. Absent: it has no agent, or no check was made. */
  readonly runsOwnAgent?: boolean
  /** An operator has read its texts for models (`textsOf`), in this version. */
  readonly isTold?: true
}

/** An enabled skill that was installed, as a generation has it. */
export interface SkillPin {
  readonly id: string
  readonly hash: string
  readonly tier: Exclude<TrustTier, 'builtin'>
}

/**
 * The sources by hash: the manifest as its author wrote it, and its text files; of an MCP server, its approved items.
 */
export interface PluginSource {
  readonly manifest: unknown
  readonly files: Readonly<Record<string, string>>
}

/** The pins of a generation by kind: one for each part in force. The id is unique in its kind. */
export interface PinOfKind {
  readonly plugin: PluginPin
  /** A plugin that ships with the deployment and is not as its manifest says. */
  readonly bundled: { readonly id: string; readonly state: 'enabled' | 'disabled' }
  readonly mcp: McpPin
  /** Which tools may be called. One at most, as of the next. */
  readonly policy: { readonly id: 'policy'; readonly policy: ToolPolicy }
  /** The exposure to MCP clients. */
  readonly exposure: { readonly id: 'exposure'; readonly exposed: Exposure }
  /** An installed skill, by its name. Its text is in its body. */
  readonly skill: SkillPin
}

export type PartKind = keyof PinOfKind

/** The pins by kind, each in the order of ids; a kind without a pin may be absent. */
export type Pins = { readonly [K in PartKind]?: readonly PinOfKind[K][] }

/** Pins, of a generation or without one. */
export interface HasPins {
  readonly pins: Pins
}

/** One numbered set of the parts in force and their permits. A change, or going back, makes a new one. */
export interface Generation extends HasPins {
  /** 0: nothing was ever changed. */
  readonly number: number
}

/** Pins with the sources for wiring them without running code. */
export interface PluginSnapshot extends Generation {
  readonly sources: Readonly<Record<string, PluginSource>>
}

/** Before anything was ever changed. */
export const noGeneration: Generation = { number: 0, pins: {} }

/** The pins of one kind. */
export const pinsOf = <K extends PartKind>({ pins }: HasPins, kind: K): readonly PinOfKind[K][] =>
  pins[kind] ?? []

/** A pin by its id. */
export const pinOf = <K extends PartKind>(
  of: HasPins,
  kind: K,
  id: string,
): PinOfKind[K] | undefined => pinsOf(of, kind).find((pin) => pin.id === id)

/** Which tools may be called; before an operator says anything what ships. */
export const policyOf = (of: HasPins): ToolPolicy =>
  pinOf(of, 'policy', 'policy')?.policy ?? defaultToolPolicy

/** The exposure to MCP clients; the default until an operator sets one. */
export const exposureOf = (of: HasPins): Exposure =>
  pinOf(of, 'exposure', 'exposure')?.exposed ?? defaultExposure

/** The pins without one. */
export const withoutPin = <P extends { readonly id: string }>(
  pins: readonly P[],
  id: string,
): readonly P[] => pins.filter((pin) => pin.id !== id)

/** The pins with this one in place of the pin with its id. */
export const withPin = <P extends { readonly id: string }>(
  pins: readonly P[],
  pin: P,
): readonly P[] => [...withoutPin(pins, pin.id), pin].toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** A part as it is stored, sent and compared, whatever its kind. */
export interface Part {
  readonly kind: PartKind
  readonly id: string
  readonly pin: PinOfKind[PartKind]
}

/** A part with the facts that wiring needs, whatever its kind. */
export interface StoredPart extends Part {
  /** Raised by each change of its permit: work under an older number is ended. */
  readonly epoch: number
  /** Hashes of the bodies that it is wired from. */
  readonly bodies: readonly string[]
  /** Ids of the parts that have to be wired with it. */
  readonly needs?: readonly string[]
}

/** A part as its user knows it: id and epoch show whether it has changed. */
export type HeldPart = Pick<StoredPart, 'kind' | 'id' | 'epoch'>

/** All pins, each with its kind. */
export const partsOf = ({ pins }: HasPins): readonly Part[] =>
  (Object.keys(pins) as PartKind[]).flatMap((kind) =>
    pinsOf({ pins }, kind).map((pin) => ({ kind, id: pin.id, pin })),
  )

/** The other way round. */
export function toPins(parts: readonly Part[]): Pins {
  const byKind = Object.entries(Object.groupBy(parts, ({ kind }) => kind))
  const lists = byKind.map(([kind, some]) => [
    kind,
    some.map(({ pin }) => pin).toSorted((x, y) => (x.id < y.id ? -1 : 1)),
  ])
  return Object.fromEntries(lists) as Pins // each is in the list of its kind
}

/**
 * The difference between two sets of pins, whatever the kind: the pins that went, and the pins that came or changed.
 */
export function partsDiff(before: Pins, after: Pins) {
  const keyOf = ({ kind, id }: Pick<Part, 'kind' | 'id'>) => `${kind} ${id}`
  const had = new Map(partsOf({ pins: before }).map((part) => [keyOf(part), part]))
  const has = new Set<string>()
  const came = partsOf({ pins: after }).filter((part) => {
    has.add(keyOf(part))
    const old = had.get(keyOf(part))?.pin
    return old !== part.pin && (!old || JSON.stringify(old) !== JSON.stringify(part.pin))
  })
  return { came, gone: [...had.values()].filter((part) => !has.has(keyOf(part))) }
}
