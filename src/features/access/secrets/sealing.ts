import { IsolaError } from '#contracts/errors.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import type { SealedSecret, ReadSecrets, SecretStore } from '../types/secrets.ts'

/** The deployment's keys as they were set, not validated yet. */
export interface MasterKeys {
  /** `ISOLA_MASTER_KEY` */
  readonly current: string | undefined
  /** `ISOLA_MASTER_KEY_PREVIOUS`: set after a change of the key until every value is sealed again. */
  readonly previous: string | undefined
}

type Sealed = Pick<SealedSecret, 'name' | 'sealed' | 'keyId'>

/** Sources of hashes and randomness. */
interface SealingSources {
  readonly sha256: (text: string) => string
  /** Must come from a cryptographic source. */
  readonly randomBytes: (count: number) => Uint8Array<ArrayBuffer>
}

/** Seals values under `ISOLA_MASTER_KEY`, and opens them. */
export type Sealing = ReturnType<typeof createSealing>

const format = 'v1'
const ivBytes = 12
const keyForm = /^[A-Za-z0-9+/]{43}=$/

/**
 * Seals values with AES-256-GCM. Name and format are bound to the value, so that no row can stand for another (I28).
 */
export function createSealing(keys: MasterKeys, { sha256, randomBytes }: SealingSources) {
  const idOf = (key: string) => sha256(lengthPrefixed(['master-key', key])).slice(0, 16)
  const problem = () => problemOf(keys)
  const usable = (): string => {
    const wrong = problem()
    if (wrong) throw wrong
    return trimmed(keys.current)
  }

  return {
    /** Why nothing can be sealed, and the remedy; `undefined` if all is well. */
    problem,
    async seal(name: string, value: string): Promise<Sealed> {
      const key = usable()
      // Random for each value: with the same IV twice, GCM would reveal both values.
      const iv = randomBytes(ivBytes)
      const cipher = { name: 'AES-GCM', iv, additionalData: aboutOf(name) }
      const text = new TextEncoder().encode(value)
      const sealed = await crypto.subtle.encrypt(cipher, await importKey(key), text)
      const parts = [format, toBase64(iv), toBase64(new Uint8Array(sealed))]
      return { name, sealed: parts.join('.'), keyId: idOf(key) }
    },
    /** Uses the key the value was sealed under. Throws `config_invalid`, which names the secret and the remedy. */
    async open({ name, sealed, keyId }: Sealed): Promise<string> {
      const key = [usable(), trimmed(keys.previous)].find(
        (one) => one !== '' && idOf(one) === keyId,
      )
      if (key === undefined) throw lockedOut(name)
      try {
        const [version, iv = '', text = ''] = sealed.split('.')
        if (version !== format) throw new Error('another format')
        const cipher = { name: 'AES-GCM', iv: fromBase64(iv), additionalData: aboutOf(name) }
        const opened = await crypto.subtle.decrypt(cipher, await importKey(key), fromBase64(text))
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(opened)
      } catch (cause) {
        throw new IsolaError(
          'config_invalid',
          `The secret ${name} is damaged. Set it again: isola secret set ${name}`,
          { cause },
        )
      }
    },
    isCurrent: ({ keyId }: Pick<Sealed, 'keyId'>): boolean => keyId === idOf(trimmed(keys.current)),
  }
}

const trimmed = (key: string | undefined) => (key ?? '').trim()

function problemOf({ current, previous }: MasterKeys): IsolaError | undefined {
  const how = 'make one with `openssl rand -base64 32` (locally `npm start` does)'
  if (trimmed(current) === '')
    return new IsolaError('config_missing', `ISOLA_MASTER_KEY is not set: ${how}.`)
  const wrong = 'is not 32 bytes as base64'
  if (!keyForm.test(trimmed(current)))
    return new IsolaError('config_invalid', `ISOLA_MASTER_KEY ${wrong}: ${how}.`)
  if (trimmed(previous) !== '' && !keyForm.test(trimmed(previous)))
    return new IsolaError(
      'config_invalid',
      `ISOLA_MASTER_KEY_PREVIOUS ${wrong}: set the key that was ISOLA_MASTER_KEY before, or remove it.`,
    )
  return undefined
}

function lockedOut(name: string): IsolaError {
  const message =
    `The secret ${name} is sealed under a key that is not here. Set ISOLA_MASTER_KEY_PREVIOUS to that key and run ` +
    `\`isola secret rotate\`, or set the secret again: isola secret set ${name}`
  return new IsolaError('config_invalid', message)
}

/**
 * Additional data that binds a value to its name: an attacker who can write the table cannot pass one secret off as
 * another.
 */
const aboutOf = (name: string) =>
  new TextEncoder().encode(lengthPrefixed(['isola-secret', format, name]))

const importKey = (key: string) =>
  crypto.subtle.importKey('raw', fromBase64(key), 'AES-GCM', false, ['encrypt', 'decrypt'])

const toBase64 = (bytes: Uint8Array) =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
const fromBase64 = (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0))

/** The store and seal of secrets, used at each read. */
interface SecretReaderDeps {
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
