import { lengthPrefixed } from '#contracts/objects.ts'
import type { MasterKeys, Sealing, SealingSources } from './sealing.ts'

/**
 * Seals state that a client carries for us between two requests. The key is made from the master key alone, 32 random
 * bytes: with a guessable part in it, a client could try guesses against a sealed value. `undefined` without a master
 * key.
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
