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

/** What a change comes to, before any of it is written. */
export interface PartOutcome {
  readonly rows?: readonly PluginRow[]
  readonly version?: KeptPluginVersion
  /** A bundle that is not stored yet: with the rest, or not at all. */
  readonly bundle?: { readonly hash: string; readonly text: string }
  readonly servers?: readonly McpServerRow[]
  readonly skills?: readonly SkillRow[]
  readonly skillVersion?: SkillVersion
  /** Nothing of it is written, nor told. */
  readonly isRehearsal?: boolean
  /** The pins of each kind that is another now, as far as `DecidingPart.generation` has them; nothing changes if absent. */
  readonly pins?: Pins
  /** A part that is gone: what other kinds hold of it goes with it. */
  readonly removed?: Pick<Part, 'kind' | 'id'>
  /** What the record says of it. */
  readonly told: DeploymentDraft
  readonly notes: readonly string[]
}

/** The parts in force, for code that wires some of them. */
export interface PartsInForce {
  /** The parts that every run has. */
  readonly always: () => readonly StoredPart[]
  readonly named: (ids: readonly string[]) => readonly StoredPart[]
}

/** What every change is decided from. */
export interface DecidingPart {
  /** The parts in force that the change is about, and every kind of which there is at most one; or all parts. */
  readonly generation: Generation
  /** Where the rest of it is; absent if the generation is all there is. */
  readonly inForce?: PartsInForce | undefined
  readonly facts: ChangeFacts
  readonly by: ChangeBy
}

/** What going back to an earlier generation comes to for one kind. */
export interface RestoredPart extends Pick<
  PartOutcome,
  'rows' | 'servers' | 'skills' | 'pins' | 'notes'
> {
  /** Goes into the event, beside what the other kinds say. */
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
  /** Nothing if the change is not of this kind. Throws what is refused. */
  readonly decide: (change: PluginChange, now: DecidingPart) => Promise<PartOutcome> | undefined
  readonly restore: (going: RestoringPart) => Promise<RestoredPart>
  /** Lowers the trust tier of parts after a key was removed; undefined if none changes. */
  readonly lower?: (now: Generation) => Promise<RestoredPart | undefined>
  /** Tries out what would be in force anew; the same with what was found out. Throws what does not start. */
  readonly prove?: (
    outcome: PartOutcome,
    now: Pick<DecidingPart, 'generation' | 'inForce'>,
  ) => Promise<PartOutcome>
  /** What goes with a part of another kind that was removed. */
  readonly left?: (
    gone: Pick<Part, 'kind' | 'id'>,
    now: Generation,
  ) => Pick<RestoredPart, 'pins' | 'told' | 'notes'> | undefined
  /** The name that a change takes for a part of this kind, of which tools may then have theirs. */
  readonly claims?: (change: PluginChange) => string | undefined
  /** Throws if a part of this kind has that name, by what is known of it. */
  readonly refuse?: (id: string, facts: ChangeFacts) => void
  /** Hashes of the bodies that a pin needs to be wired. */
  sources(pin: PinOfKind[K]): readonly string[]
  /** Ids of the parts that are wired wherever it is; none if left out. What its bodies name is found in them. */
  needs?(pin: PinOfKind[K]): readonly string[]
  /** What runs under an older one is ended; 0 where nothing runs under it. */
  epoch(pin: PinOfKind[K]): number
  /**
   * `always`: every run has it, so it is wired from the start. `by name`: it is wired when a tool or part of it is
   * named. `never`: it has no tools, and its users look it up.
   */
  wire(pin: PinOfKind[K]): 'always' | 'by name' | 'never'
}

/** What only the code of a plugin can say of it. */
export interface PluginFacts {
  readonly runsOwnAgent: boolean
}

/** Loads a set as a session would, and has this plugin's code registered; throws `plugin_…` saying why not. */
export type TryOut = (snapshot: PluginSnapshot, pin: PluginPin) => Promise<PluginFacts>

/** One entry for each kind that there is. */
export type PartKinds = { readonly [K in PartKind]: PartKindEntry<K> }
