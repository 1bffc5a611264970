import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { Label } from '#contracts/label.ts'
import { labelFrom } from '#contracts/label.ts'

/**
 * Of what a plugin tells models of a tool: a stranger's words, unless it ships, a signer whom an operator accepted
 * vouches for it, or an operator has read them.
 */
export const toldLabelOf = (
  { tier, isTold = false }: { readonly tier: TrustTier; readonly isTold?: boolean | undefined },
  tool: string,
): { readonly toldLabel?: Label } =>
  tier === 'community' && !isTold
    ? { toldLabel: labelFrom(tool, { confidentiality: 'public' }) }
    : {}
