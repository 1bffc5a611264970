import * as z from 'zod'
import type { OutboundRequest, Send } from '#contracts/outbound.ts'
import type { Sources } from '#contracts/sources.ts'
import { verifyIdToken, type Verified } from './id-token.ts'
import { isLoopback } from '../origins.ts'

const maxBytes = 256 * 1_024
const timeoutMs = 10_000

/** The provider whose people may sign in, and this deployment's client there. */
export interface UpstreamConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
}

/** The provider, and the means to reach it. */
interface UpstreamOptions extends UpstreamConfig {
  readonly send: Send
  readonly clock: Pick<Sources['clock'], 'nowMs'>
  readonly randomBytes: (count: number) => Uint8Array
}

/** Secrets of one sign-in, known only to this deployment and the browser's session. */
interface UpstreamSecrets {
  readonly verifier: string
  readonly nonce: string
}

/** A person whom the provider vouched for, with that provider. */
type UpstreamPerson = Verified & { readonly issuer: string }

interface Begun extends UpstreamSecrets {
  readonly origin: string
}

interface Answered extends Begun {
  readonly answer: URLSearchParams
}

/** A sign-in of a person that the provider vouched for, or why there is none. */
type Finished =
  | { readonly ok: true; readonly person: UpstreamPerson }
  | { readonly ok: false; readonly reason: string }

/** Another provider that signs people in (OpenID Connect, code flow with PKCE). */
export type Upstream = ReturnType<typeof createUpstream>

/** Where the provider sends the browser back to. The operator registers it with the provider. */
export const callbackPath = '/oauth/callback'

const metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
})

/**
 * Signs people in at the provider of `ISOLA_OIDC_…`. Checks its answer: issuer, audience, nonce, times, signature.
 */
export function createUpstream(options: UpstreamOptions) {
  const { issuer, clientId, clock, randomBytes } = options
  const { discover, readJson, exchange } = createProviderClient(options)

  const verify = async ({ verifier, nonce, answer, origin }: Answered): Promise<Finished> => {
    const found = await discover()
    const iss = answer.get('iss')
    const needsIss = found.authorization_response_iss_parameter_supported === true
    // The answer of one provider must not pass for another's (RFC 9207).
    if (iss === null ? needsIss : iss !== issuer) return { ok: false, reason: 'upstream_issuer' }
    const code = answer.get('code') ?? ''
    const token = await exchange(found.token_endpoint, { code, verifier, origin })
    const expected = { issuer, clientId, nonce, nowMs: clock.nowMs() }
    const verified = await verifyIdToken(token, await readJson(found.jwks_uri), expected)
    if (!verified) return { ok: false, reason: 'upstream_token_invalid' }
    return { ok: true, person: { issuer, ...verified } }
  }
  return {
    host: new URL(issuer).host,
    origin: new URL(issuer).origin,
    prepare: (): UpstreamSecrets => ({
      verifier: toBase64Url(randomBytes(32)),
      nonce: toBase64Url(randomBytes(16)),
    }),
    /** Where to send the browser, once there is a state; `undefined` while the provider cannot be reached. */
    async begin({
      verifier,
      nonce,
      origin,
    }: Begun): Promise<((state: string) => string) | undefined> {
      const found = await discover().catch(() => undefined)
      if (!found) return undefined
      const url = new URL(found.authorization_endpoint)
      const parameters = {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: origin + callbackPath,
        scope: 'openid email',
        nonce,
        code_challenge: await challengeOf(verifier),
        code_challenge_method: 'S256',
      }
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      return (state) => {
        url.searchParams.set('state', state)
        return url.href
      }
    },
    /** Never throws: a failure is a reason for the record. */
    finish: async (about: Answered): Promise<Finished> => {
      if (about.answer.has('error') || !about.answer.has('code'))
        return { ok: false, reason: 'upstream_denied' }
      return verify(about).catch(() => ({ ok: false, reason: 'upstream_failed' }) as const)
    },
  }
}

/** Requests to the provider. Throws any error: the browser learns only that the sign-in failed. */
function createProviderClient({ issuer, clientId, clientSecret, send }: UpstreamOptions) {
  // A redirect is an error: the code must not go to a host that the provider names. The address guard also keeps the
  // provider from leading us into a network that the operator did not name: an address in its metadata is public, or
  // beside a provider that is not.
  const readJson = async (url: string, more: Partial<OutboundRequest> = {}): Promise<unknown> => {
    const answer = await send({ url, ...more }, { operator: issuer, maxBytes, timeoutMs })
    if (answer.status === 200) return JSON.parse(await answer.text())
    answer.cancel()
    throw new Error(`status_${answer.status}`)
  }
  const discover = async () => {
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    const found = metadata.parse(await readJson(url))
    if (found.issuer !== issuer) throw new Error('issuer_mismatch')
    // The browser is sent there: it must be a page over https, so that no listener on the way can read the request.
    if (!isSafe(found.authorization_endpoint)) throw new Error('not_https')
    return found
  }
  const exchange = async (
    endpoint: string,
    sent: { readonly code: string; readonly verifier: string; readonly origin: string },
  ) => {
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code: sent.code,
      redirect_uri: sent.origin + callbackPath,
      client_id: clientId,
      code_verifier: sent.verifier,
      ...(clientSecret && { client_secret: clientSecret }),
    })
    const headers = { accept: 'application/json' }
    const answer = await readJson(endpoint, { method: 'POST', body, headers })
    return z.object({ id_token: z.string().max(100_000) }).parse(answer).id_token
  }
  return { readJson, discover, exchange }
}

/** https, or http to the machine itself. */
function isSafe(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return toBase64Url(new Uint8Array(digest))
}

const toBase64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
