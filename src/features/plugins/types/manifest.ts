import type { TrustTier, Manifest } from '#contracts/manifest/manifest.ts'
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
