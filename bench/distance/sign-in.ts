import { createHash } from 'node:crypto'
import { host, send } from './client.ts'

const callback = 'http://127.0.0.1:33418/callback'
const verifier = 'the-verifier-of-the-bench-which-is-long-enough-0123456789'

/** Signs a program in with a key, as a browser and the program do it. @returns the access token for `/v1`. */
export async function signIn(url: string, key: string): Promise<string> {
  const client = await register(url)
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client,
    redirect_uri: callback,
    state: 'bench',
    scope: 'agents',
    resource: `http://${host}/v1`,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const page = await send(`${url}/authorize?${query}`, { method: 'GET' })
  const handle = /name="handle" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const cookie = (page.headers['set-cookie'] ?? []).map((one) => one.split(';')[0]).join('; ')
  const action = `${url}/authorize?${query}`
  const fields = { handle, scope: 'agents', key, decision: 'key' }
  const isPrivate = page.headers['referrer-policy'] === 'no-referrer'
  const origin = isPrivate ? 'null' : `http://${host}`
  const back = await form(action, fields, { cookie, origin })
  const code = new URL(back.headers.location ?? 'none:').searchParams.get('code')
  if (code === null) throw new Error(`no code: ${back.status} ${back.text.slice(0, 500)}`)
  const token = await form(`${url}/oauth/token`, {
    grant_type: 'authorization_code',
    client_id: client,
    code,
    redirect_uri: callback,
    code_verifier: verifier,
  })
  const { access_token: access } = JSON.parse(token.text) as { readonly access_token?: string }
  if (access === undefined) throw new Error(`no token: ${token.status} ${token.text}`)
  return access
}

async function register(url: string): Promise<string> {
  const metadata = {
    client_name: 'The bench',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
  }
  const answer = await send(`${url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  })
  return (JSON.parse(answer.text) as { readonly client_id: string }).client_id
}

const form = (
  url: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
) =>
  send(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
