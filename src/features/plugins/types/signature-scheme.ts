import { requestSchemes, textSchemes } from '#contracts/manifest/manifest.ts'

export type RequestScheme = (typeof requestSchemes)[number]

export type TextScheme = (typeof textSchemes)[number]

/** A request as it arrived. The body has the signed bytes, before any parsing. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** The scheme and secret that a request must be signed with. */
export interface Signer {
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
export type VerifyRequest = (request: SignedRequest, by: Signer) => Promise<boolean>
