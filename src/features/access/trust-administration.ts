import { invalidField } from '#platform/routes/json-shape.ts'
import { IsolaError } from '#contracts/errors.ts'
import { eventOf } from './key-administration.ts'
import type { Sources } from '#contracts/sources.ts'
import type {
  TrustAdministration,
  TrustedKey,
  TrustStore,
} from '#runtime/catalog/types/plugin-upload.ts'

const idChars = 22

/** The id of a public key: the same for the same key. */
const toKeyId = (publicKey: string, sha256: (text: string) => string): string =>
  `trust_${sha256(publicKey).slice(0, idChars)}`

/** Accepts and removes the keys whose signatures make a plugin `trusted`, each with its event. */
export function createTrustAdministration({
  store,
  clock,
  sha256,
}: Pick<Sources, 'clock' | 'sha256'> & { readonly store: TrustStore }): TrustAdministration {
  return {
    list: store.list,
    async add({ name, publicKey }, by) {
      await checkKey(publicKey)
      const addedAtMs = clock.nowMs()
      const id = toKeyId(publicKey, sha256)
      const key: TrustedKey = { id, name, publicKey, addedBy: by.principal, addedAtMs }
      await store.add(key, eventOf('trust_added', by, addedAtMs, { key: id, name, publicKey }))
      return key
    },
    async remove(name, by) {
      const key = (await store.list()).find((known) => known.id === name || known.name === name)
      if (!key) throw new IsolaError('request_not_found', 'There is no such key.')
      const { id, publicKey } = key
      const data = { key: id, name: key.name, publicKey }
      await store.remove(id, eventOf('trust_removed', by, clock.nowMs(), data))
      return key
    },
  }
}

/** Encodings of points of small order: with such a "key" one signature fits many texts (RFC 8032, 5.1.7). */
const weak: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '0100000000000000000000000000000000000000000000000000000000000080',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
])

async function checkKey(publicKey: string): Promise<void> {
  const bytes = Uint8Array.from(atob(publicKey), (character) => character.charCodeAt(0))
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const isKey =
    !weak.has(hex) &&
    (await crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']).then(
      () => true,
      () => false,
    ))
  if (isKey) return
  throw invalidField(
    'publicKey',
    'is not an Ed25519 public key; `isola trust new FILE` makes a pair.',
  )
}
