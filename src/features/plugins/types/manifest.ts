import type { Manifest, RequestedGrants, TrustTier } from '#contracts/manifest/manifest.ts'
import type { Plugin } from './plugin.ts'
import { type Label, labelFrom } from '#contracts/label.ts'

/**
 * The label of a tool's texts: a stranger's, unless the plugin ships with the deployment, has an accepted signer, or
 * an operator has read the texts.
 */
export const toldLabelOf = (
  { tier, isTold = false }: { readonly tier: TrustTier; readonly isTold?: boolean | undefined },
  tool: string,
): { readonly toldLabel?: Label } =>
  tier === 'community' && !isTold
    ? { toldLabel: labelFrom(tool, { confidentiality: 'public' }) }
    : {}

/** A tool that a manifest contributes. */
export type ToolManifest = Manifest['contributes']['tools'][number]

/** Code for an isolate of its own. */
export interface IsolatedCode {
  /**
   * One ES module that imports nothing but `isola/plugin`; its default export is `register`. Absent: it is in the
   * bundle of the plugin's hash.
   */
  readonly code?: string
  readonly tier: TrustTier
  /** Counted up by the operator to end whatever runs under older grants. */
  readonly grantEpoch: number
  /** Whether its code runs its agent; with an entry module it does unless this says otherwise. */
  readonly runsOwnAgent?: boolean
  /** An operator enabled it, and may switch it off at any time. */
  readonly isInstalled?: boolean
  /** An operator has read what it tells models of itself. */
  readonly isTold?: boolean
  /** The grants that the operator allowed; absent: the grants that the manifest requests. */
  readonly granted?: RequestedGrants
}

/** A plugin folder as the generator writes it into `bundled.gen.ts`. */
export interface BundledPlugin {
  readonly manifest: unknown
  /** Text files the manifest refers to, by their path in the folder. */
  readonly files: Readonly<Record<string, string>>
  /** sha-256 over manifest, code and files, lowercase hex. */
  readonly hash: string
  readonly register?: Plugin
  /** Instead of `register`: code that does not run in the Worker's own process. */
  readonly isolated?: IsolatedCode
}
