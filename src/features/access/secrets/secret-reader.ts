import type { ReadSecrets, SecretStore } from '../types/secrets.ts'
import type { Sealing } from './sealing.ts'

/** The store and seal of secrets, used at each read. */
export interface SecretReaderDeps {
  readonly secrets: Pick<SecretStore, 'find'>
  readonly sealing: Pick<Sealing, 'open'>
  /** Called with each value before any caller gets it: the logs redact it. */
  readonly learn: (value: string) => void
}

/** Opens secrets for the host's own use. Nothing is cached: a change by the operator holds from the next read on. */
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
