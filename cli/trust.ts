// isola trust new|add|list|remove: whose signatures make a plugin trusted.

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  type KeyObject,
} from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { noun, on, verb } from './command.ts'
import { lines, listed } from './text.ts'

// Ed25519 keys of those who sign plugins: made and used on their own machine.

const isRaw = (text: string) => /^[A-Za-z0-9+/]{43}=$/.test(text)

/** The 32 bytes of a public key as base64. */
const rawOf = (key: KeyObject) =>
  key.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')

/** Makes a pair: the private key in `path`, readable by its owner alone, the public one beside it. */
function makeKeys(path: string): string {
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
function readPublicKey(given: string): string {
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

export default noun('trust', {
  new: verb({
    usage: '<file>',
    about: 'Makes a pair of keys for signing plugins: <file> and <file>.pub.',
    run({ args: [file], print }) {
      const publicKey = makeKeys(file)
      print(
        { file, publicKey },
        lines(
          `${file} is your private key: keep it, and show it to no other person. Public key (also in ${file}.pub):`,
          publicKey,
          `Operators accept it with: isola trust add <name> ${publicKey}`,
        ),
      )
    },
  }),
  add: verb({
    usage: '<name> <public key or file>',
    about: 'Accepts a key: plugins that it signed are trusted.',
    async run({ args: [name, key], ask, print }) {
      const added = await ask('POST /api/operator/trust', { name, publicKey: readPublicKey(key) })
      print(
        added,
        `Plugins that ${added.name} signed are trusted from now on. Installed ones stay as they are.`,
      )
    },
  }),
  list: on('GET /api/operator/trust', {
    about: 'Keys that are accepted.',
    says: ({ keys }) =>
      listed(keys, 'No keys: every plugin that is sent in is community.', {
        name: 'name',
        id: 'id',
        'public key': 'publicKey',
        since: 'addedAtMs',
      }),
  }),
  remove: on('DELETE /api/operator/trust/:key', {
    usage: '<name>',
    about: 'Accepts a key no longer.',
    asks: (name) => `Accept no more what ${name} signs?`,
    says: ({ name }) =>
      `${name} is not accepted any more. What it signed counts as a stranger's from now on, and goes on so.`,
  }),
})
