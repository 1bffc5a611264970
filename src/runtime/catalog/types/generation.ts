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

/** One numbered set of the parts in force and their permits. A change, or going back, makes a new one. */
export interface Generation {
  /** 0: nothing was ever changed. */
  readonly number: number
  readonly pins: Pins
}

/** Pins with the sources for wiring them without running code. */
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

/** The exposure to MCP clients; the default until an operator sets one. */
export const exposureOf = (of: Pick<Generation, 'pins'>): Exposure =>
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
