import * as z from 'zod'

/** Ways in which a service signs the requests that it sends: which headers, what of the request, and how. */
export const requestSchemes = [
  'github',
  'slack',
  'stripe',
  'shopify',
  'line',
  'discord',
  'telegram',
] as const
/** Ways to write the HMAC-SHA-256 of a text. */
export const textSchemes = ['hex', 'base64'] as const

/** `scheme` of a grant `in: hmac`. */
export const signatureScheme = z.enum([...textSchemes, ...requestSchemes])

export type RequestScheme = (typeof requestSchemes)[number]
export type TextScheme = (typeof textSchemes)[number]
export type SignatureScheme = z.infer<typeof signatureScheme>

/** A request as it came in. The body is what was signed, byte by byte: before anything parsed it. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** By whom a request has to be signed. */
export interface Signer {
  readonly scheme: RequestScheme
  /** What both sides know; of `discord` the public key of the application, as hex. */
  readonly secret: string
  readonly nowMs: number
}

/**
 * Whether a request was signed by whoever has the secret, not more than 5 minutes from now where the scheme has a time.
 * False whatever is wrong: a header that is missing or written otherwise, another body, another secret, too long ago.
 * Takes the same time for each signature that is not right. Throws nothing.
 */
export type VerifyRequest = (request: SignedRequest, by: Signer) => Promise<boolean>
