import { exports } from 'cloudflare:workers'
import type { Answer } from './client.ts'

export const issuer = 'http://localhost:8787'
export const callback = 'http://127.0.0.1:33418/callback'

/** The Worker at an address of its own; redirects are for the test to follow. */
export function at(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  if (!headers.has('cf-connecting-ip')) headers.set('cf-connecting-ip', newAddress())
  const url = path.startsWith('http') ? path : issuer + path
  // A network would say it, and `/mcp` asks for it.
  headers.set('host', new URL(url).host)
  return exports.default.fetch(new Request(url, { ...init, headers, redirect: 'manual' }))
}

let count = 0
/** Registrations and wrong keys are counted by address. */
export const newAddress = () => `198.51.${(count += 1) >> 8}.${count & 255}`

export const form = (fields: Readonly<Record<string, string | readonly string[]>>) => {
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const one of [value].flat()) body.append(name, one)
  return { method: 'POST', body }
}

/** A client that registers itself, as MCP clients do. */
export async function register(more: object = {}): Promise<Answer> {
  const metadata = {
    client_name: 'A test client',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
    ...more,
  }
  const response = await at('/oauth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  })
  return { status: response.status, ...((await response.json()) as object) }
}

const base64Url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

export const verifier = 'a-verifier-that-is-long-enough-to-be-one-0123456789'

export async function challenge(): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return base64Url(new Uint8Array(digest))
}

/** The address a client sends its user to. `undefined` takes a parameter away. */
export async function authorizeUrl(
  client: string,
  more: Readonly<Record<string, string | undefined>> = {},
): Promise<string> {
  const all = {
    response_type: 'code',
    client_id: client,
    redirect_uri: callback,
    state: 'the-state',
    scope: 'agents',
    resource: `${issuer}/v1`,
    code_challenge: await challenge(),
    code_challenge_method: 'S256',
    ...more,
  }
  const url = new URL(`${issuer}/authorize`)
  for (const [name, value] of Object.entries(all))
    if (value !== undefined) url.searchParams.set(name, value)
  return url.href
}

/** A browser as far as it matters here: it keeps cookies, and says where a form comes from if the page lets it. */
export function createBrowser() {
  const jar = new Map<string, string>()
  let origin = issuer
  const go = async (url: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    if (jar.size > 0)
      headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '))
    if (init.method === 'POST' && !headers.has('origin')) headers.set('origin', origin)
    const response = await at(url, { ...init, headers })
    // "Append a request `Origin` header" of the Fetch standard.
    if (response.headers.get('content-type')?.startsWith('text/html'))
      origin = response.headers.get('referrer-policy') === 'no-referrer' ? 'null' : issuer
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';')
      const split = pair.indexOf('=')
      if (/max-age=0/i.test(cookie)) jar.delete(pair.slice(0, split))
      else jar.set(pair.slice(0, split), pair.slice(split + 1))
    }
    return response
  }
  /** Opens the page and sends its form. */
  const decide = async (
    url: string,
    fields: Readonly<Record<string, string | readonly string[]>>,
    init: RequestInit = {},
  ) => {
    const page = await (await go(url)).text()
    const handle = handleIn(page)
    const scope = [...page.matchAll(/name="scope" value="([^"]+)"/g)].map(([, one]) => one!)
    return go(url, { ...form({ handle, scope, ...fields }), ...init })
  }
  return { go, decide, jar }
}

export const handleIn = (page: string): string =>
  /name="handle" value="([^"]+)"/.exec(page)?.[1] ?? ''

/** The parameters of the redirect address to the client. */
export function returned(response: Response): URLSearchParams {
  return new URL(response.headers.get('location') ?? 'none:').searchParams
}

export const tokens = (fields: Readonly<Record<string, string>>): Promise<Response> =>
  at('/oauth/token', form(fields))

/** From nothing to tokens, as a client does it. */
export async function signIn(
  key: string,
  more: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  const { client_id: client } = await register()
  const url = await authorizeUrl(client, more)
  const back = await createBrowser().decide(url, { key, decision: 'key' })
  const code = returned(back).get('code')
  if (code === null) throw new Error(`${back.status} ${back.headers.get('location')}`)
  const response = await tokens({
    grant_type: 'authorization_code',
    client_id: client,
    code,
    redirect_uri: callback,
    code_verifier: verifier,
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return { client, code, ...((await response.json()) as object) }
}

export const refresh = (
  client: string,
  token: string,
  more: Readonly<Record<string, string>> = {},
) => tokens({ grant_type: 'refresh_token', client_id: client, refresh_token: token, ...more })

export const bearer = (token: string): RequestInit => ({
  headers: { authorization: `Bearer ${token}` },
})
