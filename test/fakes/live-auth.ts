import { createHash } from 'node:crypto'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { serveLive } from './live-mcp-server.ts'

/**
 * An MCP server with an authorization server beside it, on a free port of this machine. Its sign-in page takes no input: a
 * test adds `account` or `denied` to the address. The server's tool answers with the account of the token.
 */
export async function startLiveAuth() {
  const codes = new Map<string, { readonly account: string; readonly challenge: string }>()
  const accounts = new Map<string, string>()
  let count = 0
  const live = await serveLive(async (request, origin) => {
    const url = new URL(request.url)
    if (url.pathname === '/mcp') {
      const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? ''
      const account = accounts.get(token)
      if (account === undefined) return challenge(origin)
      return handlerOf(account).fetch(request)
    }
    if (url.pathname.startsWith('/.well-known/')) return Response.json(metadataOf(url, origin))
    if (url.pathname === '/register')
      return Response.json({ ...(await bodyOf(request)), client_id: 'a-client' }, { status: 201 })
    if (url.pathname === '/authorize') {
      const { searchParams: asked } = url
      const back = new URL(asked.get('redirect_uri') ?? '')
      back.searchParams.set('state', asked.get('state') ?? '')
      back.searchParams.set('iss', origin)
      if (asked.has('denied')) back.searchParams.set('error', 'access_denied')
      else {
        const code = `code-${(count += 1)}`
        const account = asked.get('account') ?? ''
        codes.set(code, { account, challenge: asked.get('code_challenge') ?? '' })
        back.searchParams.set('code', code)
      }
      return new Response(null, { status: 302, headers: { location: back.href } })
    }
    if (url.pathname === '/token') {
      const params = new URLSearchParams(await request.text())
      const code = params.get('code') ?? ''
      const given = codes.get(code)
      const verifier = createHash('sha256').update(params.get('code_verifier') ?? '')
      codes.delete(code)
      if (!given || verifier.digest('base64url') !== given.challenge)
        return Response.json({ error: 'invalid_grant' }, { status: 400 })
      const token = `a-token-of-${given.account}-${(count += 1)}`
      accounts.set(token, given.account)
      return Response.json({ access_token: token, token_type: 'Bearer' })
    }
    return new Response(null, { status: 404 })
  })
  return { ...live, url: `${live.origin}/mcp` }
}

const bodyOf = async (request: Request) => (await request.json()) as object

const challenge = (origin: string): Response => {
  const where = `${origin}/.well-known/oauth-protected-resource/mcp`
  const headers = { 'www-authenticate': `Bearer resource_metadata="${where}"` }
  return new Response(null, { status: 401, headers })
}

const metadataOf = ({ pathname }: URL, origin: string): object =>
  pathname.startsWith('/.well-known/oauth-protected-resource')
    ? { resource: `${origin}/mcp`, authorization_servers: [origin] }
    : {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      }

const handlerOf = (account: string) =>
  createMcpHandler(() => {
    const mcp = new McpServer({ name: 'live', version: '1.2.3' })
    mcp.registerTool(
      'say',
      { description: 'Says what it is given.', inputSchema: z.object({ text: z.string() }) },
      ({ text }) => ({ content: [{ type: 'text', text: `${account} said: ${text}` }] }),
    )
    return mcp
  })
