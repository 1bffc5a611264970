import { lengthPrefixed } from '#contracts/naming.ts'
import type { MasterKeys, Sealing, SealingSources } from './sealing.ts'

/**
 * Seals what a client carries for us between two requests. Of the master key alone, 32 random bytes: whatever can be
 * guessed could be guessed from what it sealed. Nothing without one.
 */
export function createStateKey(
  { current = '' }: MasterKeys,
  {
    sealing,
    sha256,
  }: { readonly sealing: Pick<Sealing, 'problem'> } & Pick<SealingSources, 'sha256'>,
): string | undefined {
  return sealing.problem() ? undefined : sha256(lengthPrefixed(['mcp-state', current.trim()]))
}
