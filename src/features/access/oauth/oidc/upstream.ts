import * as z from 'zod'
import type { OutboundRequest, Send } from '#contracts/outbound.ts'
import type { Sources } from '#contracts/sources.ts'
import { verifyIdToken, type Verified } from './id-token.ts'
import { isLoopback } from '../origins.ts'

const maxBytes = 256 * 1_024
const timeoutMs = 10_000

/** The provider whose people may sign in, and our client there. */
export interface UpstreamConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
}

/** The provider, and how it is reached. */
export interface UpstreamOptions extends UpstreamConfig {
  readonly send: Send
  readonly clock: Pick<Sources['clock'], 'nowMs'>
  readonly randomBytes: (count: number) => Uint8Array
}

/** What only we and the browser's session know of one sign-in. */
export interface UpstreamSecrets {
  readonly verifier: string
  readonly nonce: string
}

/** Somebody whom the provider vouched for, and which provider that was. */
export type UpstreamPerson = Verified & { readonly issuer: string }

/** Another provider who says who somebody is (OpenID Connect, code flow with PKCE). */
export interface Upstream {
  readonly host: string
  readonly origin: string
  readonly prepare: () => UpstreamSecrets
  /** Where to send the browser, once there is a state; `undefined` while the provider cannot be reached. */
  readonly begin: (
    about: UpstreamSecrets & { readonly origin: string },
  ) => Promise<((state: string) => string) | undefined>
  /** Never throws: what went wrong is a reason for the record. */
  readonly finish: (
    about: UpstreamSecrets & { readonly answer: URLSearchParams; readonly origin: string },
  ) => Promise<
    | { readonly ok: true; readonly person: UpstreamPerson }
    | { readonly ok: false; readonly reason: string }
  >
}

/** Where somebody comes back to. It is to be registered with the provider. */
export const callbackPath = '/oauth/callback'

const metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
})

/**
 * Signs people in at the provider of `ISOLA_OIDC_…`. What it answers is checked: issuer, audience, nonce, times,
 * signature.
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { issuer, clientId, clock, randomBytes } = options
  const { discover, readJson, exchange } = createProviderClient(options)

  const verify: Upstream['finish'] = async ({ verifier, nonce, answer, origin }) => {
    const found = await discover()
    const iss = answer.get('iss')
    const needsIss = found.authorization_response_iss_parameter_supported === true
    // Two providers must not be mixed up (RFC 9207).
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
    prepare: () => ({
      verifier: toBase64Url(randomBytes(32)),
      nonce: toBase64Url(randomBytes(16)),
    }),
    async begin({ verifier, nonce, origin }) {
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
    async finish(about) {
      if (about.answer.has('error') || !about.answer.has('code'))
        return { ok: false, reason: 'upstream_denied' }
      return verify(about).catch(() => ({ ok: false, reason: 'upstream_failed' }) as const)
    },
  }
}

/** What is asked of the provider. Throws whatever is wrong: nobody is told more than that it failed. */
function createProviderClient({ issuer, clientId, clientSecret, send }: UpstreamOptions) {
  // A redirect is no answer: a code must not be sent to whomever the provider names. Nor does it lead us into a network
  // that the operator did not: what it names is public, or beside a provider that is not.
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
    // The browser is sent there: it must be a page, and nobody may listen on the way.
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

/** Nothing but https, and http to the machine itself. */
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
