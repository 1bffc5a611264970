import { requestSchemes, textSchemes } from '#contracts/manifest/signature-scheme.ts'

export type RequestScheme = (typeof requestSchemes)[number]

export type TextScheme = (typeof textSchemes)[number]

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
