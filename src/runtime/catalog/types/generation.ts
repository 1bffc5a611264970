import { defaultExposure, type Exposure } from './exposure.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { McpPin } from './mcp.ts'
import type { Permit } from './permit.ts'
import { defaultToolPolicy, type ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'

/** An enabled plugin that was installed, as a generation has it. */
export interface PluginPin {
  readonly id: string
  readonly hash: string
  readonly version: string
  readonly tier: Exclude<TrustTier, 'builtin'>
  readonly permit: Permit
  /** Counts up with each change of the permit: what runs under an older one is ended. */
  readonly grantEpoch: number
  readonly config: JsonObject
  /** Its code runs its agent; found out when it was enabled. Absent: it has no agent, or no check was made. */
  readonly runsOwnAgent?: boolean
  /** An operator has read what it tells models of itself (`textsOf`), in this version. */
  readonly isTold?: true
}

/** An enabled skill that was installed, as a generation has it. */
export interface SkillPin {
  readonly id: string
  readonly hash: string
  readonly tier: Exclude<TrustTier, 'builtin'>
}

/** By hash: the manifest as its author wrote it, and its text files; of an MCP server what was approved of it. */
export interface PluginSource {
  readonly manifest: unknown
  readonly files: Readonly<Record<string, string>>
}

/** What a generation holds of each kind of part: one pin for each that is in force. The id is unique in its kind. */
export interface PinOfKind {
  readonly plugin: PluginPin
  /** A plugin that ships with the deployment and is not as its manifest says. */
  readonly bundled: { readonly id: string; readonly state: 'enabled' | 'disabled' }
  readonly mcp: McpPin
  /** Which tools may be called. One at most, as of the next. */
  readonly policy: { readonly id: 'policy'; readonly policy: ToolPolicy }
  /** What MCP clients are offered. */
  readonly exposure: { readonly id: 'exposure'; readonly exposed: Exposure }
  /** A skill that was installed, by its name. What it says is in its body. */
  readonly skill: SkillPin
}

export type PartKind = keyof PinOfKind

/** By kind, each in the order of ids; a kind of which nothing is in force may be absent. */
export type Pins = { readonly [K in PartKind]?: readonly PinOfKind[K][] }

/** One numbered set of what is in force and what it may do. A change, or going back, makes a new one. */
export interface Generation {
  /** 0: nothing was ever changed. */
  readonly number: number
  readonly pins: Pins
}

/** Pins with what is needed to wire them without running code. */
export interface PluginSnapshot extends Generation {
  readonly sources: Readonly<Record<string, PluginSource>>
}

/** Before anything was ever changed. */
export const noGeneration: Generation = { number: 0, pins: {} }

/** The pins of one kind. */
export const pinsOf = <K extends PartKind>(
  { pins }: Pick<Generation, 'pins'>,
  kind: K,
): readonly PinOfKind[K][] => pins[kind] ?? []

/** A pin by its id. */
export const pinOf = <K extends PartKind>(
  of: Pick<Generation, 'pins'>,
  kind: K,
  id: string,
): PinOfKind[K] | undefined => pinsOf(of, kind).find((pin) => pin.id === id)

/** Which tools may be called; before an operator says anything what ships. */
export const policyOf = (of: Pick<Generation, 'pins'>): ToolPolicy =>
  pinOf(of, 'policy', 'policy')?.policy ?? defaultToolPolicy

/** What MCP clients are offered; before an operator says anything what ships. */
export const exposureOf = (of: Pick<Generation, 'pins'>): Exposure =>
  pinOf(of, 'exposure', 'exposure')?.exposed ?? defaultExposure

/** Pins without one of them. */
export const withoutPin = <P extends { readonly id: string }>(
  pins: readonly P[],
  id: string,
): readonly P[] => pins.filter((pin) => pin.id !== id)

/** Pins with this one, in the place of the one of its id. */
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
  /** Counts up with each change of what it may do: what runs under an older one is ended. */
  readonly epoch: number
  /** Hashes of what it is wired from. */
  readonly bodies: readonly string[]
  /** Ids of the parts that are wired wherever it is. */
  readonly needs?: readonly string[]
}

/** A part as its user knows it: id and epoch show whether it has changed. */
export type HeldPart = Pick<StoredPart, 'kind' | 'id' | 'epoch'>

/** All pins, each with its kind. */
export const partsOf = ({ pins }: Pick<Generation, 'pins'>): readonly Part[] =>
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
