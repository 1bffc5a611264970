// Ed25519 keys of those who sign plugins: made and used on their own machine.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  type KeyObject,
} from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const isRaw = (text: string) => /^[A-Za-z0-9+/]{43}=$/.test(text)

/** The 32 bytes of a public key as base64. */
const rawOf = (key: KeyObject) =>
  key.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')

/** Makes a pair: the private key in `path`, readable by its owner alone, the public one beside it. */
export function makeKeys(path: string): string {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = rawOf(publicKey)
  // `wx`: a key that is there is never overwritten.
  writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    flag: 'wx',
    mode: 0o600,
  })
  writeFileSync(`${path}.pub`, `${raw}\n`, { flag: 'wx' })
  return raw
}

/** A public key as base64, or from a file: that of `makeKeys`, or PEM. */
export function readPublicKey(given: string): string {
  if (isRaw(given)) return given
  if (!existsSync(given))
    throw new Error(`${given} is neither a public key (32 bytes as base64) nor a file of one.`)
  const text = readFileSync(given, 'utf8').trim()
  if (isRaw(text)) return text
  if (text.includes('PRIVATE KEY'))
    throw new Error(`${given} is a private key: give the public one, ${given}.pub. It stays here.`)
  return rawOf(createPublicKey(text))
}

/** A signature of a text, as an upload carries it. */
export function signText(text: string, path: string) {
  const privateKey = createPrivateKey(readFileSync(path, 'utf8'))
  if (privateKey.asymmetricKeyType !== 'ed25519')
    throw new Error(`${path} is not an Ed25519 key; \`isola trust new <file>\` makes one.`)
  const value = sign(null, Buffer.from(text), privateKey)
  return { key: rawOf(createPublicKey(privateKey)), value: value.toString('base64') }
}
