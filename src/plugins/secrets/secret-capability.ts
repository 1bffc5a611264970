import type { PluginSecrets } from '#contracts/plugin.ts'
import { failed, valueOf, type CallSecrets } from './call-secrets.ts'
import { toPlaceholder } from './placeholder.ts'

const maxTextChars = 1024 * 1024

/** Names and signs with secrets; no function here gives a value away. Arguments come from plugin code. */
export function createPluginSecrets(secrets: CallSecrets): PluginSecrets {
  const { grants, read, refuse } = secrets
  const keyOf = async (name: string, text: string): Promise<CryptoKey> => {
    if (typeof name !== 'string' || typeof text !== 'string')
      throw failed('A secret is named, and a text signed: both are strings.')
    if (text.length > maxTextChars) throw failed('A text to sign has at most 1 MiB.')
    if (!grants.some((grant) => grant.name === name && grant.in === 'hmac'))
      throw refuse(name, `not granted: secret ${name.slice(0, 64)} in: hmac (plugin.yaml, grants)`)
    const value = new TextEncoder().encode(valueOf(await read([name]), name))
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    return crypto.subtle.importKey('raw', value, algorithm, false, ['sign', 'verify'])
  }
  return {
    ref: (name) => toPlaceholder(name, secrets.nonce),
    async hmac(name, text) {
      const key = await keyOf(name, text)
      const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text))
      return Array.from(new Uint8Array(signature), toHex).join('')
    },
    async verify(name, text, signature) {
      const key = await keyOf(name, text)
      if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/i.test(signature)) return false
      const bytes = Uint8Array.from(signature.match(/../g) ?? [], (pair) =>
        Number.parseInt(pair, 16),
      )
      // Takes the same time whatever is wrong.
      return crypto.subtle.verify('HMAC', key, bytes, new TextEncoder().encode(text))
    },
  }
}

const toHex = (byte: number) => byte.toString(16).padStart(2, '0')
