import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'

/** The one tool's definition, for a server made with the SDK, from its next answer on. */
export interface LiveMcpState {
  description: string
}

/** An MCP server as others make them, with the SDK over node's HTTP, on a free port of this machine. */
export async function startLiveMcp(state: LiveMcpState) {
  const handler = createMcpHandler(() => {
    const mcp = new McpServer({ name: 'live', version: '1.2.3' })
    mcp.registerTool(
      'say',
      { description: state.description, inputSchema: z.object({ text: z.string() }) },
      ({ text: heard }) => ({ content: [{ type: 'text', text: `The server heard: ${heard}` }] }),
    )
    return mcp
  })
  const { origin, close } = await serveLive((request) => handler.fetch(request))
  return {
    url: `${origin}/mcp`,
    async close() {
      await handler.close()
      await close()
    },
  }
}

type Respond = (request: Request, origin: string) => Promise<Response>

/** Answers over node's HTTP, on a free port of this machine. */
export async function serveLive(respond: Respond) {
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing, respond))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  respond: Respond,
): Promise<void> {
  const { method = 'GET', url, headers } = incoming
  const body = await text(incoming)
  const origin = `http://${headers.host}`
  const request = new Request(`${origin}${url}`, {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
    ...(body !== '' && { body }),
  })
  const response = await respond(request, origin)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(await response.text())
}
