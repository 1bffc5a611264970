import type { DeploymentDraft } from './event.ts'
import type {
  Generation,
  Part,
  PartKind,
  PinOfKind,
  Pins,
  PluginPin,
  PluginSnapshot,
  StoredPart,
} from './generation.ts'
import type { McpServerRow } from './mcp.ts'
import type { ChangeBy, KeptPluginVersion, PluginChange, PluginRow } from './plugin-catalog.ts'
import type { ChangeFacts } from './plugin-store.ts'
import type { SkillRow, SkillVersion } from './skill-catalog.ts'

/** The outcome of a change, before it is written. */
export interface PartOutcome {
  readonly rows?: readonly PluginRow[]
  readonly version?: KeptPluginVersion
  /** A bundle that is not stored yet: with the rest, or not at all. */
  readonly bundle?: { readonly hash: string; readonly text: string }
  readonly servers?: readonly McpServerRow[]
  readonly skills?: readonly SkillRow[]
  readonly skillVersion?: SkillVersion
  /** True: the outcome is neither written nor recorded. */
  readonly isRehearsal?: boolean
  /** The pins of each kind that is another now, as far as `DecidingPart.generation` has them; nothing changes if absent. */
  readonly pins?: Pins
  /** A part that is gone: what other kinds hold of it goes with it. */
  readonly removed?: Pick<Part, 'kind' | 'id'>
  /** The event for the record. */
  readonly told: DeploymentDraft
  readonly notes: readonly string[]
}

/** The parts in force, for code that wires some of them. */
export interface PartsInForce {
  /** The parts that every run has. */
  readonly always: () => readonly StoredPart[]
  readonly named: (ids: readonly string[]) => readonly StoredPart[]
}

/** The facts for every change. */
export interface DecidingPart {
  /** The parts in force that the change is about, and every kind of which there is at most one; or all parts. */
  readonly generation: Generation
  /** The rest of the parts in force; absent if `generation` has all. */
  readonly inForce?: PartsInForce | undefined
  readonly facts: ChangeFacts
  readonly by: ChangeBy
}

/** The outcome, for one kind, of going back to an earlier generation. */
export interface RestoredPart extends Pick<
  PartOutcome,
  'rows' | 'servers' | 'skills' | 'pins' | 'notes'
> {
  /** Added to the event's fields, besides the other kinds'. */
  readonly told?: Readonly<Record<string, unknown>>
}

/** Going back: the generation that comes back, and the one in force. */
export interface RestoringPart {
  readonly target: Generation
  readonly now: Generation
  /** The policy of then comes back only if that is asked for. */
  readonly withPolicy: boolean
}

/**
 * The rules of one kind of extension. The code for all kinds (numbering, storing, comparing, the record, going back)
 * knows no kind.
 */
export interface PartKindEntry<K extends PartKind = PartKind> {
  readonly kind: K
  /** Undefined if the change is not of this kind. Throws what is refused. */
  readonly decide: (change: PluginChange, now: DecidingPart) => Promise<PartOutcome> | undefined
  readonly restore: (going: RestoringPart) => Promise<RestoredPart>
  /** Lowers the trust tier of parts after a key was removed; undefined if none changes. */
  readonly lower?: (now: Generation) => Promise<RestoredPart | undefined>
  /** Tries the new parts, and answers the outcome with the facts found out. Throws if a part does not start. */
  readonly prove?: (
    outcome: PartOutcome,
    now: Pick<DecidingPart, 'generation' | 'inForce'>,
  ) => Promise<PartOutcome>
  /** Changes of this kind that follow from the removal of a part of another kind. */
  readonly left?: (
    gone: Pick<Part, 'kind' | 'id'>,
    now: Generation,
  ) => Pick<RestoredPart, 'pins' | 'told' | 'notes'> | undefined
  /** The name that a change takes for a part of this kind, of which tools may then have theirs. */
  readonly claims?: (change: PluginChange) => string | undefined
  /** Throws if a part of this kind has the name, by the given facts. */
  readonly refuse?: (id: string, facts: ChangeFacts) => void
  /** Hashes of the bodies that a pin needs to be wired. */
  sources(pin: PinOfKind[K]): readonly string[]
  /** Ids of the parts that are wired wherever it is; none if left out. What its bodies name is found in them. */
  needs?(pin: PinOfKind[K]): readonly string[]
  /** The pin's epoch: work under an older one is ended. 0 for a kind without running work. */
  epoch(pin: PinOfKind[K]): number
  /**
   * `always`: every run has it, so it is wired from the start. `by name`: it is wired when a tool or part of it is
   * named. `never`: it has no tools, and its users look it up.
   */
  wire(pin: PinOfKind[K]): 'always' | 'by name' | 'never'
}

/** Facts about a plugin that only its code shows. */
export interface PluginFacts {
  readonly runsOwnAgent: boolean
}

/** Loads a set as a session would, and has this plugin's code registered; throws `plugin_…` saying why not. */
export type TryOut = (snapshot: PluginSnapshot, pin: PluginPin) => Promise<PluginFacts>

/** One entry for each kind. */
export type PartKinds = { readonly [K in PartKind]: PartKindEntry<K> }
