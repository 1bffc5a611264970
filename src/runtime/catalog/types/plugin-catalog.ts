import type { Exposure } from './exposure.ts'
import type { Administrator } from '#contracts/keys.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { HeldPart, StoredPart } from './generation.ts'
import type { McpChange } from './mcp.ts'
import type { NetworkRule } from './network-rule.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { Permit, PermitLine } from './permit.ts'
import type { PluginTexts } from './plugin-texts.ts'
import type { Reply } from '#contracts/reply.ts'
import type { ListedTool } from '#runtime/catalog/types/tool.ts'
import type { SearchHit } from '#contracts/search.ts'
import type { SkillCandidate, SkillChange } from './skill-catalog.ts'
import type { ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'

/** `installed`: there, and never enabled. Installing never enables. */
type PluginState = 'installed' | 'enabled' | 'disabled' | 'removed'

/** A version of a plugin that was brought once; its content never changes. */
export interface PluginVersion {
  readonly hash: string
  readonly version: string
  readonly tier: TrustTier
  /** Where it came from: `upload`, `zip`, or a URL. */
  readonly source: string
  /** The name of the key that signed it. */
  readonly signer?: string
  readonly installedAtMs: number
  readonly installedBy: string
}

/** A plugin as the operator sees it. */
export interface PluginView extends PluginTexts {
  readonly id: string
  readonly state: PluginState
  readonly tier: TrustTier
  readonly version: string
  readonly hash: string
  readonly manifest: unknown
  /** The permit that this version requests; absent if its manifest cannot be read. */
  readonly asks?: Permit
  /** The same in lines. */
  readonly lines: readonly PermitLine[]
  /** The lines that no operator has granted for exactly this version. */
  readonly missing: readonly PermitLine[]
  readonly grantEpoch: number
  readonly config: JsonObject
  /** Why it was switched off, if it was not by an operator. */
  readonly problem?: { readonly code: string; readonly message: string }
  /** Newest first. */
  readonly versions: readonly PluginVersion[]
  /** The newer versions that wait: an operator grants or accepts one by its hash. */
  readonly waiting: readonly PluginVersion[]
  /** The newest waiting version, shown as if it were in use. Only where a single plugin is shown. */
  readonly update?: Pick<
    PluginView,
    'version' | 'hash' | 'tier' | 'asks' | 'lines' | 'missing' | 'texts' | 'isTold'
  >
  /** Notes for a reviewer, such as a name that looks like another's. */
  readonly notes: readonly string[]
}

/** A plugin in a list, without long fields. */
export interface PluginListing extends Omit<
  PluginView,
  'manifest' | 'asks' | 'versions' | 'waiting' | 'texts' | 'update'
> {
  readonly name: string | null
  readonly description: string | null
  /** How many. */
  readonly versions: number
  readonly waiting: number
  /** Names of the secrets that the plugin requests. */
  readonly secrets: readonly string[]
}

/** A version that is to be installed. */
export interface NewPluginVersion extends PluginVersion {
  readonly id: string
  readonly tier: Exclude<TrustTier, 'builtin'>
  readonly manifest: unknown
}

/** A version whose bundle is stored. */
export interface KeptPluginVersion extends NewPluginVersion {
  /** The size of its bundle as UTF-8. */
  readonly sizeBytes: number
}

/**
 * How much one principal may bring. A version counts for the principal that brought it first, until it is collected.
 */
export interface PluginQuota {
  readonly maxVersions: number
  /** The size of all bundles together. */
  readonly maxBytes: number
  readonly maxAddsPerHour: number
}

/** The versions and bytes that one principal has added. */
export interface PluginUsage {
  readonly versions: number
  readonly bytes: number
  /** Since the moment that was asked for. */
  readonly adds: number
  /** When the first of these was; absent if there are none. */
  readonly firstAddAtMs?: number
}

/** The operator's changes. Each one is an event, also if it was refused. */
export type PluginChange =
  | {
      readonly do: 'add'
      readonly plugin: NewPluginVersion
      /** The text that its hash is of. It is stored once the change is decided. */
      readonly bundle: string
      /** Allows an older version than the present one. */
      readonly allowDowngrade?: boolean
      /** Allows a known version number to name another content from now on. */
      readonly replace?: boolean
      /** Takes over the stored values of another owner's plugin with the id. Only for an operator. */
      readonly takeOver?: boolean
      /**
       * The version takes the place of the version in use even if it requests more. The plugin is then off until that
       * is granted.
       */
      readonly now?: boolean
    }
  /** Accepts a waiting version of the plugin; by hash, since the operator reviewed that content. */
  | { readonly do: 'accept'; readonly id: string; readonly hash: string }
  /**
   * Grants the permit of the present version, or of a waiting version, which is then in use. `texts`: its texts for
   * models were read, too.
   */
  | {
      readonly do: 'grant'
      readonly id: string
      readonly hash: string
      readonly permit: Permit
      readonly texts?: boolean
    }
  | { readonly do: 'revoke'; readonly id: string }
  | {
      readonly do: 'enable'
      readonly id: string
      readonly config?: JsonObject
      /** The version that the operator reviewed; another one is refused. */
      readonly hash?: string
    }
  | { readonly do: 'disable'; readonly id: string }
  /** Goes back to the version that was enabled before. */
  | { readonly do: 'rollback'; readonly id: string }
  /** Goes back to an earlier generation. Its policy comes back only with `withPolicy`. */
  | { readonly do: 'restore'; readonly generation: number; readonly withPolicy?: boolean }
  /** A key was removed: everything that it had signed loses its trust tier. */
  | { readonly do: 'distrust' }
  | { readonly do: 'policy'; readonly policy: ToolPolicy }
  | ({ readonly do: 'network' } & NetworkChange)
  | { readonly do: 'mcp'; readonly mcp: McpChange }
  | { readonly do: 'skill'; readonly skill: SkillChange }
  | { readonly do: 'expose'; readonly exposed: Exposure }
  | { readonly do: 'remove'; readonly id: string }
  /** Deletes the stored data of a removed plugin, and frees its id. */
  | { readonly do: 'free'; readonly id: string }

/** Hosts to open and to close for the `http` tools. */
export interface NetworkChange {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
  readonly elsewhere?: NetworkRule['elsewhere']
}

/** The outcome of a change. */
export interface ChangeResult {
  readonly generation: number
  readonly plugin?: PluginView
  /** Notes for the operator. */
  readonly notes: readonly string[]
}

/** The caller of a change: an author installs, and enables nothing. */
export interface ChangeBy extends Administrator {
  readonly mayEnable: boolean
}

/** A generation as an operator sees it in the list, to roll back to. */
export interface GenerationView {
  readonly number: number
  readonly reason: string
  readonly madeBy: string
  readonly madeAtMs: number
  readonly plugins: readonly { readonly id: string; readonly version: string }[]
}

/** How a call of a plugin went, as far as it is the plugin's own doing. */
export interface CallReport {
  readonly id: string
  readonly hash: string
  /** Absent if it went well. */
  readonly fault?: string
  /** The principal of the call. */
  readonly principal: string
}

/**
 * A plugin that failed repeatedly for one principal: it is off for that principal alone, who may have provoked the
 * faults.
 */
export interface CallVerdict {
  readonly why: string
  readonly offUntilMs: number
}

/** A call under way that uses a part, and hears from the Catalog when that ends. */
export interface PartListener {
  /** Called when the part is no longer in force. Answers when the call has ended. */
  readonly gone: () => Promise<void>
  /** Answers when the call is over. */
  readonly over: () => Promise<void>
}

/** The RPC methods of the `Catalog` object: the one writer of the installed and enabled set. */
export interface CatalogApi {
  /**
   * The parts that every run has; left out if the generation is still `known`. Waits for a change only while that is
   * being written.
   */
  readonly look: (
    known?: number,
  ) => Promise<Reply<{ readonly number: number; readonly parts?: readonly StoredPart[] }>>
  /** The parts in force whose tools begin with one of these ids, each by one indexed read. */
  readonly parts: (
    ids: readonly string[],
  ) => Promise<Reply<{ readonly number: number; readonly parts: readonly StoredPart[] }>>
  /** Tools, best first. */
  readonly search: (
    queries: readonly string[],
    limit: number,
  ) => Promise<Reply<readonly SearchHit[]>>
  /** Skills that fit, best first: skills that ship, and enabled installed skills. */
  readonly skills: (queries: readonly string[]) => Promise<Reply<readonly SkillCandidate[]>>
  /**
   * The tools of parts that are loaded by name, if they match one of these patterns (`kv__*`), in the order of their
   * names.
   */
  readonly tools: (wanted: readonly string[]) => Promise<Reply<readonly ListedTool[]>>
  /** The same, their names alone. */
  readonly toolNames: (wanted: readonly string[]) => Promise<Reply<readonly string[]>>
  /** Why parts that are loaded by name cannot be used. */
  readonly problems: () => Promise<Reply<readonly PluginProblem[]>>
  /** Answers when the part is gone, when the listener's call is over, or after half a minute. */
  readonly hold: (part: HeldPart, listener: PartListener) => Promise<void>
  /** One; nothing if it is not there. */
  readonly plugin: (id: string) => Promise<Reply<PluginView | undefined>>
  /** The plugins that the runtime switched off by itself, or that could not be started, and why. */
  readonly page: (after: string, limit: number) => Promise<Reply<readonly PluginListing[]>>
  /** The plugins that no operator switched off, or that could not be started, and why. */
  readonly failed: () => Promise<Reply<readonly PluginProblem[]>>
  readonly generations: (limit: number) => Promise<Reply<readonly GenerationView[]>>
  readonly change: (change: PluginChange, by: ChangeBy) => Promise<Reply<ChangeResult>>
  readonly report: (report: CallReport) => Promise<CallVerdict | undefined>
  /** Removes some bundles that are no longer needed, between two changes. Answers how many; 0 is the end. */
  readonly collect: () => Promise<Reply<number>>
}

/** The Catalog, as the operator's surface has it. Every verb may throw `request_unavailable`. */
export interface PluginAdministration {
  readonly list: () => Promise<readonly PluginListing[]>
  readonly show: (id: string) => Promise<PluginView | undefined>
  /** The plugins that no operator switched off, or that could not be started, and why. */
  readonly failed: () => Promise<readonly PluginProblem[]>
  /** Newest first: fewer than the limit where they would name more than 10,000 plugins together. */
  readonly generations: (limit: number) => Promise<readonly GenerationView[]>
  /** Which tools may be called now, and with which generation that came. */
  readonly policy: () => Promise<{ readonly generation: number; readonly policy: ToolPolicy }>
  /** The exposure to MCP clients, and the generation that it is from: from a cache unless `latest` is asked for. */
  readonly exposed: (
    from?: 'latest',
  ) => Promise<{ readonly generation: number; readonly exposed: Exposure }>
  /**
   * When this is answered, calls under way that heard of a revocation have ended. Other isolates know of the change a
   * moment later (docs/decisions/0112-how-fast-a-change-holds.md).
   */
  readonly change: (change: PluginChange, by: ChangeBy) => Promise<ChangeResult>
}

/** A row of an installed plugin. */
export interface PluginRow {
  readonly id: string
  readonly version: string
  readonly hash: string
  readonly tier: TrustTier
  readonly state: PluginState
  readonly manifest: unknown
  readonly permit?: Permit
  /** The version that the permit is for. */
  readonly permitHash?: string
  readonly grantEpoch: number
  readonly config: JsonObject
  readonly problem?: { readonly code: string; readonly message: string }
  /**
   * The owner of the id and of the data stored under it; empty if nothing is stored. Absent if the plugin ships, or
   * shipped, with the deployment.
   */
  readonly owner?: string
  /** Hashes of newer versions that wait for an operator, newest first. */
  readonly waiting?: readonly string[]
  /** The version whose texts for models an operator has read. */
  readonly toldHash?: string
}
