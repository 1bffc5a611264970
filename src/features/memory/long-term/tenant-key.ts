import { errorCode, IsolaError } from '#contracts/errors.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import type { MemoryAnswer } from '#contracts/long-term.ts'
import type { SealedSecret } from '#features/access/types/secrets.ts'
import type { HashWord } from './note-words.ts'

type SealedKey = Pick<SealedSecret, 'sealed' | 'keyId'>

/** HMAC-SHA256. */
type KeyedHash = (key: Uint8Array, text: string) => Uint8Array

/** Seals under `ISOLA_MASTER_KEY` (the governance room). */
interface KeySealing {
  readonly seal: (name: string, value: string) => Promise<SealedKey>
  readonly open: (secret: SealedKey & { readonly name: string }) => Promise<string>
  readonly isCurrent: (secret: SealedKey) => boolean
}

/** The dependencies of a tenant's key, and its store. */
export interface TenantKeyDeps {
  readonly sealing: KeySealing
  readonly keyedHash: KeyedHash
  readonly randomBytes: (count: number) => Uint8Array<ArrayBuffer>
  /**
   * The name under which it is sealed, by kind and owner: a key that was copied to another place opens nothing there.
   */
  readonly name: string
  readonly load: () => SealedKey | undefined
  readonly save: (key: SealedKey) => void
}

/** A key that is open. */
interface OpenKey {
  readonly hash: HashWord
  /** `about` is what it is of: it opens for nothing else. */
  readonly seal: (about: readonly string[], text: string) => Promise<Uint8Array<ArrayBuffer>>
  readonly open: (about: readonly string[], sealed: Uint8Array<ArrayBuffer>) => Promise<string>
}

/** The key of one object's notes. */
export interface TenantKey {
  /** Made where there is none. Throws `config_…` while the master key is missing or another one. */
  readonly open: () => Promise<OpenKey>
  readonly reseal: () => Promise<NonNullable<MemoryAnswer['key']>>
  /** It was thrown away with what it sealed. */
  readonly forget: () => void
}

const keyBytes = 32
const ivBytes = 12
const high = 0x1_0000

/**
 * A random key of the object's own, sealed under the master key: a rotation seals 32 bytes anew, and every note and
 * hash stays unchanged. Words and texts are under keys that are derived from it.
 */
export function createTenantKey(deps: TenantKeyDeps): TenantKey {
  const { sealing, keyedHash, randomBytes, name, load, save } = deps
  let opened: Promise<OpenKey> | undefined

  async function read(kept: SealedKey): Promise<string> {
    const value = await sealing.open({ ...kept, name }).catch((cause: unknown) => {
      if (errorCode(cause) !== 'config_invalid') throw cause
      const message =
        'What is remembered is sealed under a key that is not here. Set ISOLA_MASTER_KEY_PREVIOUS to that ' +
        'key and run `isola secret rotate`.'
      throw new IsolaError('config_invalid', message, { cause })
    })
    if (!sealing.isCurrent(kept)) save(await sealing.seal(name, value))
    return value
  }

  async function openKey(): Promise<OpenKey> {
    const kept = load()
    let value = kept && (await read(kept))
    if (value === undefined) {
      value = [...randomBytes(keyBytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
      save(await sealing.seal(name, value))
    }
    const key = new TextEncoder().encode(value)
    const forWords = keyedHash(key, 'words')
    const raw = new Uint8Array(keyedHash(key, 'notes'))
    const aes = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['encrypt', 'decrypt'])
    return { hash: createWordHash(forWords, keyedHash), ...createSeal(aes, randomBytes) }
  }

  return {
    open: () =>
      (opened ??= openKey().catch((error: unknown) => {
        opened = undefined // the next one may find another master key
        throw error
      })),
    async reseal() {
      const kept = load()
      if (!kept) return 'none'
      if (sealing.isCurrent(kept)) return 'current'
      await read(kept)
      return 'rotated'
    },
    forget: () => void (opened = undefined),
  }
}

/** 48 bits: two words of a vocabulary of 100,000 share one about once in 50,000 objects. */
function createWordHash(key: Uint8Array, keyedHash: KeyedHash): HashWord {
  return (word) => {
    const bytes = keyedHash(key, word)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return view.getUint32(0) * high + view.getUint16(4)
  }
}

function createSeal(
  key: CryptoKey,
  randomBytes: TenantKeyDeps['randomBytes'],
): Pick<OpenKey, 'seal' | 'open'> {
  const cipherOf = (iv: Uint8Array<ArrayBuffer>, about: readonly string[]) => ({
    name: 'AES-GCM',
    iv,
    additionalData: new TextEncoder().encode(lengthPrefixed(about)),
  })
  return {
    async seal(about, text) {
      // Random for each text: with the same one twice GCM would give both away.
      const iv = randomBytes(ivBytes)
      const body = new TextEncoder().encode(text)
      const sealed = await crypto.subtle.encrypt(cipherOf(iv, about), key, body)
      const all = new Uint8Array(ivBytes + sealed.byteLength)
      all.set(iv)
      all.set(new Uint8Array(sealed), ivBytes)
      return all
    },
    async open(about, sealed) {
      const iv = sealed.slice(0, ivBytes)
      const body = await crypto.subtle.decrypt(cipherOf(iv, about), key, sealed.slice(ivBytes))
      return new TextDecoder().decode(body)
    },
  }
}
