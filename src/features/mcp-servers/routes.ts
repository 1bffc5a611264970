import * as z from 'zod'
import type { McpAdministration } from '#runtime/catalog/types/part-kind.ts'
import { mcpServerSchema, type McpServerRow } from '#runtime/catalog/types/mcp.ts'
import type { SecretAdministration } from '#features/access/types/secrets.ts'
import { changeBy } from '#runtime/session/requests/asker.ts'
import { noBody } from '#platform/routes/answer.ts'
import { operators, readers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, count, flag, notes, object, text, reply } from '#platform/routes/shapes.ts'
import {
  missingSecrets,
  notSet,
  addServerRequest,
  approveServerRequest,
} from './routes/requests.ts'
import { begun } from './routes/own-login-routes.ts'
import type { RequestContext } from '#platform/routes/request.ts'

interface McpServerDeps {
  readonly mcp: McpAdministration
  readonly secrets: Pick<SecretAdministration, 'list'>
}

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
const ofServer = {
  params: { server: 'Its id.' },
  body: noBody,
  errors: [409],
  needsAgents: true,
} as const
/** A change that needs no more than the server's id. */
const changing = <What extends 'remove' | 'enable' | 'disable'>(what: What) => ({
  ...ofServer,
  replies: changed,
  handle: (
    { mcp }: McpServerDeps,
    request: RequestContext & { readonly params: { readonly server: string } },
  ) => mcp.change({ do: what, id: request.params.server }, changeBy(request)),
})

/** `/api/operator/mcp…`: remote MCP servers, their listings, and every change of their approvals. */
export default [
  route('GET /api/operator/mcp', {
    roles: readers,
    summary: 'Lists remote MCP servers.',
    replies: reply(
      200,
      'The servers.',
      z.object({
        servers: z.array(mcpServerSchema.unwrap().extend(row).meta({ id: 'McpServerListing' })),
      }),
    ),
    needsAgents: true,
    async handle({ mcp }: McpServerDeps) {
      return { servers: (await mcp.list()).map(inBrief) }
    },
  }),
  route('POST /api/operator/mcp', {
    roles: operators,
    summary: 'Adds a server, of which nothing is approved yet.',
    body: addServerRequest,
    replies: changed,
    errors: [409],
    needsAgents: true,
    async handle(deps: McpServerDeps, request) {
      const { replace, ...config } = request.body
      const missing = await missingSecrets(deps, config)
      const done = await deps.mcp.change({ do: 'add', config, replace }, changeBy(request))
      return { ...done, notes: [...done.notes, ...missing.map(notSet)] }
    },
  }),
  route('GET /api/operator/mcp/:server', {
    roles: readers,
    summary: 'A server, as it was seen last.',
    params: ofServer.params,
    replies: reply(200, 'The server.', server),
    needsAgents: true,
    async handle(deps: McpServerDeps, { params, caller }) {
      const view = await deps.mcp.show(params.server, caller.id)
      return { ...view, missingSecrets: await missingSecrets(deps, view.config) }
    },
  }),
  route('DELETE /api/operator/mcp/:server', {
    roles: operators,
    summary: 'Removes a server.',
    ...changing('remove'),
  }),
  route('POST /api/operator/mcp/:server/look', {
    roles: operators,
    summary: 'Asks a server what it has now.',
    ...ofServer,
    replies: reply(200, 'The server.', server),
    handle: (deps: McpServerDeps, { params, caller }) => lookAt(deps, params.server, caller.id),
  }),
  route('POST /api/operator/mcp/:server/approve', {
    roles: operators,
    summary: 'Approves what was seen, with the hash it was seen under.',
    ...ofServer,
    body: approveServerRequest,
    replies: changed,
    handle({ mcp }: McpServerDeps, request) {
      const { items, ...seen } = request.body
      const asked = { id: request.params.server, ...seen, ...(items && { items }) }
      return mcp.approve(asked, changeBy(request))
    },
  }),
  route('POST /api/operator/mcp/:server/login', {
    roles: operators,
    summary: 'Begins to sign in at a server.',
    ...ofServer,
    replies: begun,
    handle: ({ mcp }: McpServerDeps, { params, raw }) =>
      mcp.login(params.server, new URL(raw.url).origin),
  }),
  route('DELETE /api/operator/principals/:principal/mcp-logins', {
    roles: operators,
    summary: 'Takes away every sign-in of one principal at servers where each signs in.',
    params: { principal: 'Its id.' },
    body: noBody,
    replies: reply(200, 'It is gone.', z.object({ principal: text, servers: z.array(text) })),
    needsAgents: true,
    async handle({ mcp }: McpServerDeps, { params: { principal }, by }) {
      return { principal, servers: await mcp.forget(principal, by()) }
    },
  }),
  route('POST /api/operator/mcp/:server/enable', {
    roles: operators,
    summary: 'Switches a server on.',
    ...changing('enable'),
  }),
  route('POST /api/operator/mcp/:server/disable', {
    roles: operators,
    summary: 'Switches a server off.',
    ...changing('disable'),
  }),
] as const

const inBrief = ({ config: { id: _same, ...config }, ...one }: McpServerRow) => ({
  ...one,
  ...config,
})

/** A server that cannot be opened yet is not asked. */
async function lookAt(deps: McpServerDeps, id: string, principal: string) {
  const one = (await deps.mcp.list()).find((listed) => listed.id === id)
  const missing = one ? await missingSecrets(deps, one.config) : []
  const view =
    missing.length > 0
      ? { ...(await deps.mcp.show(id, principal)), problem: missing.map(notSet).join('. ') }
      : await deps.mcp.look(id, principal)
  return { ...view, missingSecrets: missing }
}
