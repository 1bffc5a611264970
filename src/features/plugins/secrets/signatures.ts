// Signature schemes of services. Nothing here is stored or logged: channels and plugin code use the same functions.

import { requestSchemes, textSchemes } from '#contracts/manifest/manifest.ts'

export type RequestScheme = (typeof requestSchemes)[number]

export type TextScheme = (typeof textSchemes)[number]

/** A request as it arrived. The body has the signed bytes, before any parsing. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** The scheme and secret that a request must be signed with. */
interface Signer {
  readonly scheme: RequestScheme
  /** The secret shared by both sides; for `discord` the application's public key, as hex. */
  readonly secret: string
  readonly nowMs: number
}

/**
 * Whether a request was signed with the secret, at most 5 minutes from now if the scheme has a time. False for any
 * fault: a missing or malformed header, another body, another secret, too old. Takes the same time for each wrong
 * signature. Never throws.
 */
type VerifyRequest = (request: SignedRequest, by: Signer) => Promise<boolean>

/** An older request may be a replay; a newer one comes from a wrong clock. */
const toleranceMs = 5 * 60_000

/** How a scheme signs. `signs` is the signed text, which ends with the body. */
interface Scheme {
  readonly by: 'hmac' | 'ed25519' | 'equality'
  readonly header: string
  /** Text in front of the signature in its header. */
  readonly before?: string
  readonly encoding?: TextScheme
  readonly signs?: `${string}{body}`
  /** The header with the time; `listed` if the time is in the signature's own header: `t=…,v1=…`. */
  readonly timestamp?: string
}

const listed = 'listed'

const schemes: Readonly<Record<RequestScheme, Scheme>> = {
  /** docs.github.com, "Validating webhook deliveries". */
  github: { by: 'hmac', header: 'x-hub-signature-256', before: 'sha256=', encoding: 'hex' },
  /** docs.slack.dev, "Verifying requests from Slack". */
  slack: {
    by: 'hmac',
    header: 'x-slack-signature',
    before: 'v0=',
    encoding: 'hex',
    signs: 'v0:{timestamp}:{body}',
    timestamp: 'x-slack-request-timestamp',
  },
  /** docs.stripe.com, "Verify webhook signatures manually". */
  stripe: {
    by: 'hmac',
    header: 'stripe-signature',
    encoding: 'hex',
    signs: '{timestamp}.{body}',
    timestamp: listed,
  },
  shopify: { by: 'hmac', header: 'x-shopify-hmac-sha256', encoding: 'base64' },
  line: { by: 'hmac', header: 'x-line-signature', encoding: 'base64' },
  /** discord.com/developers, "Interactions: Security and Authorization". */
  discord: {
    by: 'ed25519',
    header: 'x-signature-ed25519',
    encoding: 'hex',
    signs: '{timestamp}{body}',
    timestamp: 'x-signature-timestamp',
  },
  /** core.telegram.org/bots/api, `secret_token` of `setWebhook`. */
  telegram: { by: 'equality', header: 'x-telegram-bot-api-secret-token' },
}

/** The signatures and the time in a request's headers. */
interface Said {
  readonly signatures: readonly string[]
  readonly timestamp: string
}

export const verifyRequest: VerifyRequest = async (request, { scheme: name, secret, nowMs }) => {
  const scheme = schemes[name]
  const said = readHeaders(request.headers, scheme)
  if (!said || !isNow(said.timestamp, scheme, nowMs)) return false
  const { by, encoding = 'hex' } = scheme
  const [only = ''] = said.signatures
  if (by === 'equality') return isSame(only, secret)
  const signed = signedBytes(scheme, said.timestamp, request.body)
  if (by === 'ed25519') return verifyEd25519(secret, only, signed)
  const verdicts = await Promise.all(
    said.signatures.map((signature) => verifyHmac(secret, { signature, encoding, signed })),
  )
  return verdicts.includes(true)
}

/**
 * The headers that sign a request of ours.
 *
 * @returns `undefined` for a scheme in which only the service signs, or that signs nothing.
 */
export async function signRequest(
  { body }: Pick<SignedRequest, 'body'>,
  { scheme: name, secret, nowMs }: Signer,
): Promise<Readonly<Record<string, string>> | undefined> {
  const scheme = schemes[name]
  const { by, header, before = '', encoding = 'hex', timestamp } = scheme
  if (by !== 'hmac') return undefined
  const time = String(Math.floor(nowMs / 1_000))
  const signature = await signHmac(secret, signedBytes(scheme, time, body), encoding)
  if (timestamp === listed) return { [header]: `t=${time},v1=${signature}` }
  return { [header]: before + signature, ...(timestamp && { [timestamp]: time }) }
}

/** HMAC-SHA-256 with a text as the key. */
export async function signHmac(
  secret: string,
  signed: Uint8Array,
  encoding: TextScheme,
): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', await hmacKey(secret), signed))
  if (encoding === 'hex') return Array.from(bytes, toHex).join('')
  return btoa(String.fromCharCode(...bytes))
}

/** Takes the same time for every well-formed signature, right or wrong. */
export async function verifyHmac(
  secret: string,
  of: {
    readonly signature: string
    readonly encoding: TextScheme
    readonly signed: Uint8Array
  },
): Promise<boolean> {
  const bytes = of.encoding === 'hex' ? fromHex(of.signature, 32) : fromBase64(of.signature)
  if (!bytes || secret === '') return false
  return crypto.subtle.verify('HMAC', await hmacKey(secret), bytes, of.signed)
}

/** @param publicKey 32 bytes as hex; an invalid key verifies nothing. */
export async function verifyEd25519(
  publicKey: string,
  signature: string,
  signed: Uint8Array,
): Promise<boolean> {
  const [raw, bytes] = [fromHex(publicKey.trim(), 32), fromHex(signature, 64)]
  if (!raw || !bytes) return false
  try {
    const key = await crypto.subtle.importKey('raw', raw, 'Ed25519', false, ['verify'])
    return await crypto.subtle.verify('Ed25519', key, bytes, signed)
  } catch {
    // The key is not a point of the curve.
    return false
  }
}

/**
 * Compares in constant time: the platform verifies one HMAC against the other, since `timingSafeEqual` does not exist
 * everywhere.
 */
async function isSame(given: string, secret: string): Promise<boolean> {
  if (secret === '') return false
  const key = await hmacKey(secret)
  const expected = await crypto.subtle.sign('HMAC', key, encode(secret))
  return crypto.subtle.verify('HMAC', key, expected, encode(given))
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const hmacKey = (secret: string): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
    'verify',
  ])

function signedBytes(
  { signs = '{body}' }: Scheme,
  timestamp: string,
  body: string | Uint8Array,
): Uint8Array {
  const head = encode(signs.slice(0, -'{body}'.length).replace('{timestamp}', timestamp))
  const tail = typeof body === 'string' ? encode(body) : body
  const all = new Uint8Array(head.length + tail.length)
  all.set(head)
  all.set(tail, head.length)
  return all
}

function readHeaders(headers: SignedRequest['headers'], scheme: Scheme): Said | undefined {
  const value = headerOf(headers, scheme.header)
  if (value === undefined) return undefined
  if (scheme.timestamp === listed) return readListed(value)
  const { before = '' } = scheme
  const timestamp = scheme.timestamp === undefined ? '' : headerOf(headers, scheme.timestamp)
  if (timestamp === undefined || !value.startsWith(before)) return undefined
  return { signatures: [value.slice(before.length)], timestamp }
}

/** While a service rotates a secret it sends a signature for each. */
const maxSignatures = 8

/** `t=1492774577,v1=…,v1=…,v0=…`: a signature of another version than `v1` proves nothing. */
function readListed(value: string): Said | undefined {
  const pairs = value.split(',').map((pair) => pair.trim().split('='))
  const of = (name: string) => pairs.flatMap(([key, one]) => (key === name && one ? [one] : []))
  const [times, signatures] = [of('t'), of('v1')]
  const [timestamp] = times
  if (timestamp === undefined || times.length > 1 || signatures.length > maxSignatures)
    return undefined
  return { signatures, timestamp }
}

/** A header that occurs twice counts as absent: it is unclear which value was signed. */
function headerOf(headers: SignedRequest['headers'], name: string): string | undefined {
  const values = Object.entries(headers).filter(([key]) => key.toLowerCase() === name)
  return values.length === 1 ? values[0]?.[1] : undefined
}

function isNow(timestamp: string, { timestamp: header }: Scheme, nowMs: number): boolean {
  if (header === undefined) return true
  return /^\d{1,12}$/.test(timestamp) && Math.abs(nowMs - Number(timestamp) * 1_000) <= toleranceMs
}

function fromHex(text: string, length: number): Uint8Array | undefined {
  if (text.length !== 2 * length || !/^[0-9a-f]+$/i.test(text)) return undefined
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

/** Base64 of 32 bytes, in the canonical form only. */
function fromBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return undefined
  const binary = atob(text)
  return btoa(binary) === text ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : undefined
}

const toHex = (byte: number) => byte.toString(16).padStart(2, '0')
