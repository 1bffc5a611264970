import type { ReadSecrets, SecretStore } from '../types/secrets.ts'
import type { Sealing } from './sealing.ts'

/** Where a secret is found and opened, each time it is used. */
export interface SecretReaderDeps {
  readonly secrets: Pick<SecretStore, 'find'>
  readonly sealing: Pick<Sealing, 'open'>
  /** Told each value before anybody has it: no log may hold it. */
  readonly learn: (value: string) => void
}

/** Opens secrets for the host's own use. Nothing is kept: what the operator sets or removes holds for the next one. */
export function createSecretReader({ secrets, sealing, learn }: SecretReaderDeps): ReadSecrets {
  return async (names) => {
    const values = new Map<string, string>()
    for (const secret of names.length === 0 ? [] : await secrets.find(names)) {
      const value = await sealing.open(secret)
      learn(value)
      values.set(secret.name, value)
    }
    return values
  }
}
