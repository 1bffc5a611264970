import { vi } from 'vitest'

export const oidcIssuer = 'https://login.test'

const base64Url = (data: string | ArrayBuffer) =>
  btoa(typeof data === 'string' ? data : String.fromCharCode(...new Uint8Array(data)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

export interface Signed {
  readonly header?: object
  readonly claims?: object
  /** Signs with a key that the provider does not show. */
  readonly isForged?: boolean
}

const newPair = () =>
  crypto.subtle.generateKey(
    {
      name: 'RSASSA-PKCS1-v1_5',
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: 'SHA-256',
    },
    true,
    ['sign', 'verify'],
  ) as Promise<CryptoKeyPair> // of an algorithm with two keys it is a pair

/** A provider of OpenID Connect on the Worker's own fetch: discovery, tokens, keys. It checks PKCE and its client. */
export async function installOidcProvider() {
  const [pair, other] = await Promise.all([newPair(), newPair()])
  const exported = (await crypto.subtle.exportKey('jwk', pair.publicKey)) as JsonWebKey // 'jwk' makes nothing else
  const { kty, n = '', e = '' } = exported
  const jwk = { kty, n, e, kid: 'k1', use: 'sig' }
  const codes = new Map<string, { readonly asked: URLSearchParams; readonly who: Signed }>()
  const requests: string[] = []
  let metadata: object = {}

  const idToken = async (asked: URLSearchParams, { header, claims, isForged }: Signed) => {
    const now = Math.floor(Date.now() / 1_000)
    const body = {
      iss: oidcIssuer,
      aud: asked.get('client_id'),
      sub: 'sub-ada',
      email: 'ada@example.com',
      email_verified: true,
      nonce: asked.get('nonce'),
      iat: now,
      exp: now + 300,
      ...claims,
    }
    const head = base64Url(JSON.stringify({ alg: 'RS256', kid: 'k1', ...header }))
    const signed = `${head}.${base64Url(JSON.stringify(body))}`
    const { privateKey } = isForged ? other : pair
    const bytes = new TextEncoder().encode(signed)
    const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey, bytes)
    return `${signed}.${base64Url(signature)}`
  }

  const token = async (body: URLSearchParams): Promise<Response> => {
    const known = codes.get(body.get('code') ?? '')
    codes.delete(body.get('code') ?? '')
    const verifier = new TextEncoder().encode(body.get('code_verifier') ?? '')
    const challenge = base64Url(await crypto.subtle.digest('SHA-256', verifier))
    const isRight =
      known?.asked.get('code_challenge') === challenge &&
      body.get('client_secret') === 'oidc-secret' &&
      body.get('redirect_uri') === known.asked.get('redirect_uri')
    if (!isRight) return Response.json({ error: 'invalid_grant' }, { status: 400 })
    return Response.json({ id_token: await idToken(known.asked, known.who), token_type: 'Bearer' })
  }

  const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input, init)
    requests.push(request.url)
    switch (request.url) {
      case `${oidcIssuer}/.well-known/openid-configuration`:
        return Response.json({
          issuer: oidcIssuer,
          authorization_endpoint: `${oidcIssuer}/authorize`,
          token_endpoint: `${oidcIssuer}/token`,
          jwks_uri: `${oidcIssuer}/keys`,
          authorization_response_iss_parameter_supported: true,
          ...metadata,
        })
      case `${oidcIssuer}/keys`:
        return Response.json({ keys: [jwk] })
      case `${oidcIssuer}/token`:
        return token(new URLSearchParams(await request.text()))
      default:
        throw new Error(`unexpected request to ${request.url}`)
    }
  })
  return {
    requests,
    /** From now on it says this of itself. */
    says: (more: object) => void (metadata = more),
    /** A person signs in at this authorization address. @returns The address the browser is sent back to. */
    signedIn(url: string, who: Signed = {}): URL {
      const asked = new URL(url).searchParams
      const code = crypto.randomUUID()
      codes.set(code, { asked, who })
      const back = new URL(asked.get('redirect_uri') ?? '')
      back.searchParams.set('code', code)
      back.searchParams.set('state', asked.get('state') ?? '')
      back.searchParams.set('iss', oidcIssuer)
      return back
    },
    restore: () => spy.mockRestore(),
  }
}
