import { headOf } from '#contracts/cut.ts'
import type { PluginSecrets } from '#features/plugins/types/plugin.ts'
import { slotText, type SecretGrant } from '#runtime/catalog/types/permit.ts'
import { requestSchemes, textSchemes } from '#contracts/manifest/manifest.ts'
import {
  type RequestScheme,
  type TextScheme,
  signHmac,
  signRequest,
  verifyHmac,
  verifyRequest,
} from './signatures.ts'
import { failed } from '../types/plugin-output.ts'
import { valueOf, type CallSecrets } from './call-secrets.ts'
import { toPlaceholder } from './placeholder.ts'

const maxTextChars = 1024 * 1024
/** How many uses a call may make, since each is recorded. */
const maxUses = 1_000

/**
 * Names secrets, and signs and verifies with them; no function here returns a value. Arguments come from plugin code.
 */
export function createPluginSecrets(secrets: CallSecrets): PluginSecrets {
  const { grants, read, refuse, used, nowMs } = secrets
  let uses = 0

  /** The value of a secret and the scheme of its grant, if that is one of `schemes`. */
  async function keyOf<S extends TextScheme | RequestScheme>(
    name: string,
    text: string,
    schemes: readonly S[],
  ): Promise<{ readonly secret: string; readonly scheme: S }> {
    if (typeof name !== 'string' || typeof text !== 'string')
      throw failed('A secret is named, and a text signed: both are strings.')
    if (text.length > maxTextChars) throw failed('A text to sign has at most 1 MiB.')
    const signing = grants.filter((grant) => grant.name === name && grant.in === 'hmac')
    const grant = signing.find((one) => schemes.some((scheme) => scheme === schemeOf(one)))
    const scheme = schemes.find((one) => grant && one === schemeOf(grant))
    if (!grant || !scheme) throw refuse(name, whyNot(name, signing, schemes))
    if (uses >= maxUses) throw failed('A call signs and checks at most 1,000 times.')
    uses += 1
    const secret = valueOf(await read([name]), name)
    used({ secret: name, place: slotText(grant) })
    return { secret, scheme }
  }

  return {
    ref: (name) => toPlaceholder(name, secrets.nonce),
    async hmac(name, text) {
      const { secret, scheme } = await keyOf(name, text, textSchemes)
      return signHmac(secret, new TextEncoder().encode(text), scheme)
    },
    async verify(name, text, signature) {
      const { secret, scheme: encoding } = await keyOf(name, text, textSchemes)
      if (typeof signature !== 'string') return false
      return verifyHmac(secret, { signature, encoding, signed: new TextEncoder().encode(text) })
    },
    async sign(name, body) {
      const { secret, scheme } = await keyOf(name, body, requestSchemes)
      const headers = await signRequest({ body }, { secret, scheme, nowMs: nowMs() })
      if (headers) return headers
      throw failed(`Requests of ${scheme} are checked here, and signed over there.`)
    },
    async verifyRequest(name, request) {
      const { headers, body } = Object(request) as Partial<typeof request>
      if (typeof headers !== 'object' || headers === null || !areTexts(Object.values(headers)))
        throw failed('The headers of a request are texts by name.')
      const { secret, scheme } = await keyOf(name, body as string, requestSchemes)
      return verifyRequest({ headers, body: body as string }, { secret, scheme, nowMs: nowMs() })
    },
  }
}

const areTexts = (values: readonly unknown[]) => values.every((one) => typeof one === 'string')

/** Manifests from before schemes existed name none. */
const schemeOf = ({ scheme = 'hex' }: SecretGrant) => scheme

function whyNot(name: string, signing: readonly SecretGrant[], schemes: readonly string[]): string {
  const about = `not granted: secret ${headOf(name, 64)} in: hmac`
  if (signing.length === 0) return `${about} (plugin.yaml, grants)`
  const granted = signing.map(schemeOf).join(', ')
  return `${about} with a scheme for this (plugin.yaml says ${granted}; it takes ${schemes.join(', ')})`
}
