import * as z from 'zod'
import { mcpServerSchema } from '#runtime/catalog/types/mcp.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import {
  addServerRequest,
  approveServerRequest,
  finishOwnLoginRequest,
} from '#runtime/catalog/types/installed-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { atMs, count, flag, notes, object, text } from '#contracts/routes/shapes.ts'

const kind = z.enum(['tool', 'resource', 'template', 'prompt', 'instructions'])
const row = {
  id: text,
  state: z.enum(['added', 'enabled', 'disabled', 'removed']),
  approvedHash: text.optional(),
  confirmed: z.array(text),
  epoch: count,
  addedBy: text,
  addedAtMs: atMs,
}
const listing = z.object({
  server: z.object({ name: text, version: text }),
  items: z.array(
    z.object({
      kind,
      key: text,
      tool: text.optional(),
      definition: object.describe('All that the server says.'),
      hash: text,
      isHarmless: flag.optional(),
      isClosedWorld: flag.optional(),
    }),
  ),
  refused: z.array(z.object({ kind, key: text, why: text })),
  notes: z.array(text),
  hash: text.describe('Of all items together: what was looked at is what is approved.'),
  atMs,
})
const server = z
  .object({
    ...row,
    config: mcpServerSchema.unwrap().meta({ id: 'McpServerConfig' }),
    listing: listing.optional().describe('What it offered when it was looked at last.'),
    login: z
      .enum(['none', 'signed_out', 'signed_in'])
      .describe('Where each principal signs in: of whoever asks.'),
    isDenied: flag.optional().describe('The sign-in that was begun last was denied there.'),
    problem: text.optional(),
    differences: z
      .array(
        z.object({
          kind,
          key: text,
          tool: text.optional(),
          state: z.enum(['new', 'changed', 'same', 'gone']),
          lines: z.array(text),
        }),
      )
      .describe('As it compares with what was approved.'),
    asking: z.array(text),
    harmless: z.array(text),
    closed: z.array(text).describe('What reaches no stranger, as the operator said.'),
    missingSecrets: z.array(text),
  })
  .meta({ id: 'McpServer' })

const changed = {
  200: { is: 'What it came to.', json: z.object({ generation: count, notes }) },
}
const params = { server: 'Its id.' }

const begun = {
  200: {
    is: 'It is signed in, or somebody has to open a page.',
    json: z.discriminatedUnion('state', [
      z.object({ state: z.literal('signed_in') }),
      z.object({ state: z.literal('open'), url: text }),
    ]),
  },
}

/** `/api/operator/mcp…`: remote MCP servers; `/api/mcp…`: one's own sign-ins there. */
export const mcpContracts = {
  'GET /api/operator/mcp': {
    summary: 'Lists remote MCP servers.',
    replies: {
      200: {
        is: 'The servers.',
        json: z.object({
          servers: z.array(mcpServerSchema.unwrap().extend(row).meta({ id: 'McpServerListing' })),
        }),
      },
    },
  },
  'POST /api/operator/mcp': {
    summary: 'Adds a server, of which nothing is approved yet.',
    body: addServerRequest,
    replies: changed,
    errors: [409],
  },
  'GET /api/operator/mcp/:server': {
    summary: 'A server, as it was seen last.',
    params,
    replies: { 200: { is: 'The server.', json: server } },
  },
  'DELETE /api/operator/mcp/:server': {
    summary: 'Removes a server.',
    params,
    replies: changed,
    errors: [409],
  },
  'POST /api/operator/mcp/:server/look': {
    summary: 'Asks a server what it has now.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: { 200: { is: 'The server.', json: server } },
    errors: [409],
  },
  'POST /api/operator/mcp/:server/approve': {
    summary: 'Approves what was seen, with the hash it was seen under.',
    params,
    body: approveServerRequest,
    replies: changed,
    errors: [409],
  },
  'POST /api/operator/mcp/:server/login': {
    summary: 'Begins to sign in at a server.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: begun,
    errors: [409],
  },
  'GET /api/mcp/:server/login': {
    summary: 'Whether the caller is signed in at a server where each principal signs in.',
    params,
    replies: {
      200: {
        is: 'How it stands.',
        json: z.object({
          state: z.enum(['signed_in', 'signed_out']),
          isDenied: flag.optional().describe('The sign-in that was begun last was denied there.'),
        }),
      },
    },
    errors: [409],
  },
  'POST /api/mcp/:server/login': {
    summary: 'Begins to sign in at a server, for the caller. Needs a key: a token is refused.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: begun,
    errors: [409],
  },
  'POST /api/mcp/:server/login/finish': {
    summary: 'Ends what the caller began, with the code that the browser showed.',
    params,
    body: finishOwnLoginRequest,
    replies: { 200: { is: 'Signed in.', json: z.object({ state: z.literal('signed_in') }) } },
    errors: [409],
  },
  'DELETE /api/mcp/:server/login': {
    summary: 'Signs the caller out: what is kept of its sign-in is gone, and its calls end.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: { 200: { is: 'Signed out.', json: z.object({ state: z.literal('signed_out') }) } },
    errors: [409],
  },
  'DELETE /api/operator/principals/:principal/mcp-logins': {
    summary: 'Takes away every sign-in of one principal at servers where each signs in.',
    params: { principal: 'Its id.' },
    body: noFields,
    isBodyOptional: true,
    replies: {
      200: { is: 'It is gone.', json: z.object({ principal: text, servers: z.array(text) }) },
    },
  },
  'POST /api/operator/mcp/:server/enable': {
    summary: 'Switches a server on.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: changed,
    errors: [409],
  },
  'POST /api/operator/mcp/:server/disable': {
    summary: 'Switches a server off.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: changed,
    errors: [409],
  },
} satisfies ApiContracts
