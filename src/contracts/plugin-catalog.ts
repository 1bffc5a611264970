import type { DeploymentEvent } from './event.ts'
import type { Exposure } from './exposure.ts'
import type { Administrator } from './keys.ts'
import type { JsonObject } from './json.ts'
import type { TrustTier } from './manifest.ts'
import type { McpChange, McpPin, McpServerRow } from './mcp.ts'
import type { NetworkRule } from './network-rule.ts'
import type { Permit, PermitLine } from './permit.ts'
import type { Reply } from './reply.ts'
import type { ToolPolicy } from './tool-policy.ts'

/** `installed`: there, and never enabled. Installing never enables. */
export type PluginState = 'installed' | 'enabled' | 'disabled' | 'removed'

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
  /** Its code runs its agent; found out when it was enabled. Absent: it has no agent, or nobody has asked. */
  readonly runsOwnAgent?: boolean
}

/** One numbered set of enabled versions and what they may do. A change or a rollback makes a new one. */
export interface Generation {
  /** 0: nothing was ever changed. */
  readonly number: number
  readonly installed: readonly PluginPin[]
  /** Ids of plugins that ship with the deployment and are not as their manifest says: on or off. */
  readonly bundled: Readonly<Record<string, 'enabled' | 'disabled'>>
  /** Which tools may be called; what ships if nobody said. */
  readonly policy?: ToolPolicy
  /** Remote MCP servers that are enabled; none if absent. */
  readonly mcp?: readonly McpPin[]
  /** What MCP clients are offered; what ships if nobody said. */
  readonly exposed?: Exposure
}

/** A generation with what is needed to wire it without running code. */
export interface PluginSnapshot extends Generation {
  readonly sources: Readonly<Record<string, PluginSource>>
}

/** By hash: the manifest as its author wrote it, and its text files; of an MCP server what was approved of it. */
export interface PluginSource {
  readonly manifest: unknown
  readonly files: Readonly<Record<string, string>>
}

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
export interface PluginView {
  readonly id: string
  readonly state: PluginState
  readonly tier: TrustTier
  readonly version: string
  readonly hash: string
  readonly manifest: unknown
  /** What this version asks for; absent if its manifest cannot be read. */
  readonly asks?: Permit
  /** The same in lines. */
  readonly lines: readonly PermitLine[]
  /** Those of the lines that nobody has allowed for exactly this version. */
  readonly missing: readonly PermitLine[]
  readonly grantEpoch: number
  readonly config: JsonObject
  /** Why it was switched off, if it was not by an operator. */
  readonly problem?: { readonly code: string; readonly message: string }
  /** Newest first. */
  readonly versions: readonly PluginVersion[]
  /** Of those, what came after the version it has: an operator accepts one of them by its hash. */
  readonly waiting: readonly PluginVersion[]
  /** What somebody who looks at it should see, such as a name that looks like another's. */
  readonly notes: readonly string[]
}

/** A version that is to be installed. Its bundle is stored already. */
export interface NewPluginVersion extends PluginVersion {
  readonly id: string
  readonly tier: Exclude<TrustTier, 'builtin'>
  readonly manifest: unknown
}

/** What an operator may change. Every one of them is an event, also one that was refused. */
export type PluginChange =
  | {
      readonly do: 'add'
      readonly plugin: NewPluginVersion
      /** An older version than the one that is there. */
      readonly allowDowngrade?: boolean
      /** The version number is known with another content, and is to mean this one from now on. */
      readonly replace?: boolean
      /** With the id what somebody else's plugin kept under it; an operator says so. */
      readonly takeOver?: boolean
    }
  /** One of its versions that somebody brought and that waits; by hash, since that is what was looked at. */
  | { readonly do: 'accept'; readonly id: string; readonly hash: string }
  | { readonly do: 'grant'; readonly id: string; readonly hash: string; readonly permit: Permit }
  | { readonly do: 'revoke'; readonly id: string }
  | {
      readonly do: 'enable'
      readonly id: string
      readonly config?: JsonObject
      /** The version that was looked at; another one is refused. */
      readonly hash?: string
    }
  | { readonly do: 'disable'; readonly id: string }
  /** Without a generation: to the version before the one that is enabled. */
  | { readonly do: 'rollback'; readonly id: string }
  /** The policy of then comes back only if that is asked for. */
  | { readonly do: 'restore'; readonly generation: number; readonly withPolicy?: boolean }
  | { readonly do: 'policy'; readonly policy: ToolPolicy }
  | ({ readonly do: 'network' } & NetworkChange)
  | { readonly do: 'mcp'; readonly mcp: McpChange }
  | { readonly do: 'expose'; readonly exposed: Exposure }
  | { readonly do: 'remove'; readonly id: string }
  /** Nothing is kept any more of one that was removed: its id is anybody's. */
  | { readonly do: 'free'; readonly id: string }

/** Hosts that the `http` tools may reach from now on, and those that they may not any more. */
export interface NetworkChange {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
  readonly elsewhere?: NetworkRule['elsewhere']
}

/** What a change came to. */
export interface ChangeResult {
  readonly generation: number
  readonly plugin?: PluginView
  /** What the operator should know. */
  readonly notes: readonly string[]
}

/** Who asks for a change: an author installs, and nothing more. */
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
}

/** What the `Catalog` object answers: the one writer of what is installed and enabled. */
export interface CatalogApi {
  /** The snapshot only if its number is another than `known`. */
  readonly read: (
    known?: number,
  ) => Promise<Reply<{ readonly number: number; readonly snapshot?: PluginSnapshot }>>
  readonly list: () => Promise<Reply<readonly PluginView[]>>
  readonly generations: (limit: number) => Promise<Reply<readonly GenerationView[]>>
  readonly change: (change: PluginChange, by: ChangeBy) => Promise<Reply<ChangeResult>>
  readonly report: (report: CallReport) => Promise<void>
}

/** The Catalog, as the operator's surface has it. Every verb may throw `request_unavailable`. */
export interface PluginAdministration {
  readonly list: () => Promise<readonly PluginView[]>
  /** Newest first. */
  readonly generations: (limit: number) => Promise<readonly GenerationView[]>
  /** Which tools may be called now, and with which generation that came. */
  readonly policy: () => Promise<{ readonly generation: number; readonly policy: ToolPolicy }>
  /** What MCP clients are offered now, and with which generation that came. */
  readonly exposed: () => Promise<{ readonly generation: number; readonly exposed: Exposure }>
  /** When this is answered, every run that begins has the new set, and what was revoked has ended. */
  readonly change: (change: PluginChange, by: ChangeBy) => Promise<ChangeResult>
}

/** A row of what is installed. */
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
   * The principal whose id it is, with all that is kept under it; empty if nothing is. Absent in rows of a version
   * before: who brought the oldest version.
   */
  readonly owner?: string
}

/** The tables behind the Catalog. Every verb may throw `request_unavailable`. */
export interface PluginStore {
  readonly find: (id: string) => Promise<PluginRow | undefined>
  readonly list: () => Promise<readonly PluginRow[]>
  /** Of one plugin, or of all by id; newest first, and of each the newest hundred. */
  readonly versions: (id?: string) => Promise<readonly (PluginVersion & { readonly id: string })[]>
  readonly version: (id: string, hash: string) => Promise<NewPluginVersion | undefined>
  /** All that a version number ever meant, however long ago. */
  readonly numbered: (id: string, version: string) => Promise<readonly { readonly hash: string }[]>
  /** Who brought the oldest version. */
  readonly firstBy: (id: string) => Promise<string | undefined>
  /** The newest; `undefined` before the first change. */
  readonly generation: (number?: number) => Promise<Generation | undefined>
  readonly generations: (limit: number) => Promise<readonly GenerationView[]>
  /** By reason, such as `plugin_revoked <id>`, the newest generation it made; of these kinds of event. */
  readonly newest: (kinds: readonly string[]) => Promise<ReadonlyMap<string, number>>
  /** The row, the new generation and the event in one go: all of them or none. */
  readonly commit: (write: {
    readonly rows: readonly PluginRow[]
    readonly version?: NewPluginVersion
    readonly servers?: readonly McpServerRow[]
    /** With a policy or a choice of what is offered only if that is another now. */
    readonly generation?: Generation & { readonly reason: string }
    readonly event: DeploymentEvent
  }) => Promise<void>
}

/** Bundles by hash. `load` throws `plugin_code_unavailable` if there is none, or one that was tampered with. */
export interface BundleStore {
  readonly save: (hash: string, text: string) => Promise<void>
  readonly load: (hash: string) => Promise<string>
}
