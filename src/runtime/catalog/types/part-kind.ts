import type { DeploymentDraft } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type {
  McpChange,
  McpDifference,
  McpPin,
  McpServerRow,
  McpStanding,
  McpCameBack,
  McpLogin,
} from './mcp.ts'
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
import type { Administrator, Role } from '#contracts/keys.ts'
import type {
  ChangeBy,
  PluginChange,
  PluginRow,
  ChangedParts,
  ChangeFacts,
} from './plugin-catalog.ts'

/** The outcome of a change of a server, before it is written. */
export interface McpOutcome {
  readonly servers: readonly McpServerRow[]
  /** Absent if the pins stay as they are. */
  readonly mcp?: readonly McpPin[]
  /** The event for the record. */
  readonly told: DeploymentDraft
  readonly notes: readonly string[]
}

/** Decides changes of servers, within the Catalog's single writer. Throws what is refused. */
export interface McpDecisions {
  readonly decide: (change: McpChange, now: Generation, by: ChangeBy) => Promise<McpOutcome>
  /** The servers of an earlier generation. A server that was removed or added anew since stays as it is. */
  readonly restore: (then: Generation) => Promise<
    Pick<McpOutcome, 'servers' | 'notes'> & {
      readonly mcp: readonly McpPin[]
      /** Rights that the restore grants and that were not granted just before; in the notes too. */
      readonly regained: readonly string[]
    }
  >
}

/** A server as the operator sees it. */
export interface McpServerView extends McpServerRow, McpStanding {
  readonly differences: readonly McpDifference[]
  /** Tools, as last seen, of which each call needs an approval. */
  readonly asking: readonly string[]
  /** Tools without such a hint that were approved as harmless. */
  readonly harmless: readonly string[]
  /** Tools that were approved as closed: no stranger writes where they read. */
  readonly closed: readonly string[]
}

/** A principal that manages its own sign-in. */
export interface McpSelf extends Administrator {
  readonly role: Role
}

/**
 * A principal's own sign-in, at a server where each principal signs in. Throws `request_…`; only operators learn of a
 * server that is off.
 */
export interface McpOwnLogins {
  readonly show: (id: string, by: McpSelf) => Promise<McpOwnLogin>
  /** @param origin Where a browser reaches this deployment. */
  readonly begin: (id: string, by: McpSelf, origin: string) => Promise<McpLogin>
  /**
   * @param code The code that the browser showed. Throws `request_invalid` unless it belongs to a sign-in of this
   *   principal.
   */
  readonly finish: (id: string, by: McpSelf, code: string) => Promise<void>
  /** Deletes its tokens and ends calls under way. Repeated, it does nothing. */
  readonly end: (id: string, by: McpSelf) => Promise<void>
}

/** How a principal stands at a server. `isDenied`: its last sign-in was denied there. */
interface McpOwnLogin {
  readonly state: 'signed_in' | 'signed_out'
  readonly isDenied?: true
}

/** The result of a sign-in in the browser, and its server. Only the deployment's own sign-in is finished by it. */
export type McpFinished = ({ readonly state: 'signed_in' } | McpCameBack) & {
  readonly server: string
}

/**
 * The operator's changes of servers. Throws `request_…`; every change is an event. At a server where each principal
 * signs in, the operator sees with its own sign-in.
 */
export interface McpAdministration {
  readonly own: McpOwnLogins
  readonly list: () => Promise<readonly McpServerRow[]>
  readonly show: (id: string, principal: string) => Promise<McpServerView>
  /** Lists the server's items now. Throws `request_unavailable` with the reason. */
  readonly look: (id: string, principal: string) => Promise<McpServerView>
  readonly change: (
    change: McpChange,
    by: ChangeBy,
  ) => Promise<{ readonly generation: number; readonly notes: readonly string[] }>
  /** Begins to sign in. @param origin Where a browser reaches this deployment. */
  readonly login: (id: string, origin: string) => Promise<McpLogin>
  /** Finishes a sign-in with the browser's query. Throws `request_invalid`. */
  readonly finishLogin: (query: string) => Promise<McpFinished>
  /** Removes every sign-in of one principal; answers at which servers. */
  readonly forget: (principal: string, by: Administrator) => Promise<readonly string[]>
  /** The client metadata for authorization servers. */
  readonly clientMetadata: (origin: string) => JsonObject
  /** Approves the listing with this hash, or only these items of it. */
  readonly approve: (
    seen: {
      readonly id: string
      readonly hash: string
      /** Keys, or `kind:key`; all if absent. */
      readonly items?: readonly string[]
      readonly confirm: readonly string[]
      /** Tools without a hint about destruction that do not destroy; `*` is all such tools. */
      readonly harmless: readonly string[]
      /**
       * Tools that reach no stranger: their results are the server's own, and no data leaves from there; `*` is all
       * tools.
       */
      readonly closed: readonly string[]
    },
    by: ChangeBy,
  ) => Promise<{ readonly generation: number; readonly notes: readonly string[] }>
}

/** The outcome of a change, before it is written. */
export interface PartOutcome extends ChangedParts {
  readonly rows?: readonly PluginRow[]
  /** True: the outcome is neither written nor recorded. */
  readonly isRehearsal?: boolean
  /**
   * The pins of each kind that is another now, as far as `DecidingPart.generation` has them; nothing changes if
   * absent.
   */
  readonly pins?: Pins
  /** The extension that the change removes. Every kind's `left` then adds the changes that follow from the removal. */
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
  /**
   * The enabled extensions that the change may touch. They include each kind that has at most one extension. For a
   * restore or the removal of a key they are all enabled extensions.
   */
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
  /** The fields that this kind adds to the event for the record. */
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
