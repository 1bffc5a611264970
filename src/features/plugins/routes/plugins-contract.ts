import * as z from 'zod'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import {
  acceptPluginRequest,
  addPluginOptions,
  addPluginQuery,
  enablePluginRequest,
  grantPluginRequest,
  removePluginQuery,
  restoreRequest,
} from '#runtime/catalog/types/installed-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { atMs, count, flag, notes, object, text } from '#contracts/routes/shapes.ts'

const tier = z.enum(['builtin', 'trusted', 'community'])
const permit = z.looseObject({}).meta({
  id: 'Permit',
  description: 'All that a version asks for, in the names of `plugin.yaml`.',
})
const lines = z.array(z.object({ text, amount: z.number().optional() }))
const version = z
  .object({
    id: text.optional().describe('Of the plugin.'),
    hash: text,
    version: text,
    tier,
    source: text,
    signer: text.optional(),
    isSignerAccepted: flag.optional(),
    installedAtMs: atMs,
    installedBy: text,
  })
  .meta({ id: 'PluginVersion' })

const told = z.array(z.object({ place: text, text }))
const row = {
  id: text,
  state: z.enum(['installed', 'enabled', 'disabled', 'removed']),
  tier,
  version: text,
  hash: text,
  lines: lines.describe('What it asks for, each a thing that can be had.'),
  missing: lines.describe('Those that nobody has allowed for exactly this version.'),
  grantEpoch: count,
  config: object,
  isTold: flag.describe('Whether an operator has read exactly what it tells models of itself.'),
  problem: z.object({ code: text, message: text }).optional(),
  notes,
}
const listed = z
  .object({
    ...row,
    name: text.nullable(),
    description: text.nullable(),
    versions: count,
    waiting: count,
  })
  .meta({ id: 'PluginListing' })
const plugin = z
  .object({
    ...row,
    manifest: z.unknown().describe('As its author wrote it.'),
    asks: permit.optional(),
    versions: z.array(version).describe('Newest first.'),
    waiting: z.array(version).describe('Of those, what waits for an operator.'),
    texts: told.describe('What it tells models of itself, and where.'),
    update: z
      .object({
        version: text,
        hash: text,
        tier,
        asks: permit.optional(),
        lines,
        missing: lines.describe('What the version in use has not.'),
        texts: told,
        isTold: flag,
      })
      .optional()
      .describe('The newest that waits: `grant` with its `hash` and `asks` takes it into use.'),
  })
  .meta({ id: 'Plugin' })

const change = z
  .object({ generation: count, plugin: plugin.optional(), notes })
  .meta({ id: 'PluginChange' })
const changed = { 200: { is: 'What it came to.', json: change } }
const params = { plugin: 'Its id.' }
const errors = [409, 422]

/** What somebody brings: a bundle that was built, or where one is. */
const upload = addPluginOptions.extend({
  bundle: z.unknown().optional().describe('What `isola plugin build` makes.'),
  url: text.optional().describe('Where a bundle or a zip is.'),
  signature: z.unknown().optional(),
  source: text.optional(),
})

/** `/api/operator/plugins…` and generations. */
export const pluginContracts = {
  'GET /api/operator/plugins': {
    summary: 'Lists what is installed.',
    replies: {
      200: {
        is: 'The plugins.',
        json: z.object({ generation: count, plugins: z.array(listed) }),
      },
    },
  },
  'POST /api/operator/plugins': {
    summary: 'Installs a version, which enables nothing.',
    query: addPluginQuery,
    body: upload,
    otherBody: 'application/zip',
    replies: { 201: { is: 'It is there.', json: change } },
    errors: [404, 409, 422, 502],
  },
  'GET /api/operator/plugins/:plugin': {
    summary: 'A plugin, with its versions and what it asks for.',
    params,
    replies: { 200: { is: 'The plugin.', json: plugin } },
  },
  'DELETE /api/operator/plugins/:plugin': {
    summary: 'Removes a plugin; with `purge` also what it keeps outside of sessions.',
    params,
    query: removePluginQuery,
    replies: {
      200: {
        is: 'It is gone. One that was gone already has `notes` alone.',
        json: z.object({ generation: count.optional(), plugin: plugin.optional(), notes }),
      },
    },
    errors,
  },
  'POST /api/operator/plugins/:plugin/accept': {
    summary: 'Takes a version that waits.',
    params,
    body: acceptPluginRequest,
    replies: changed,
    errors,
  },
  'POST /api/operator/plugins/:plugin/grant': {
    summary: 'Allows what was shown, with the hash it was shown for.',
    params,
    body: grantPluginRequest,
    replies: changed,
    errors,
  },
  'POST /api/operator/plugins/:plugin/revoke': {
    summary: 'Allows nothing any more.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: changed,
    errors,
  },
  'POST /api/operator/plugins/:plugin/enable': {
    summary: 'Switches it on.',
    params,
    body: enablePluginRequest,
    isBodyOptional: true,
    replies: changed,
    errors,
  },
  'POST /api/operator/plugins/:plugin/disable': {
    summary: 'Switches it off.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: changed,
    errors,
  },
  'POST /api/operator/plugins/:plugin/rollback': {
    summary: 'Goes back to the version before.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: changed,
    errors,
  },
  'GET /api/operator/generations': {
    summary: 'Lists what was enabled, newest first.',
    replies: {
      200: {
        is: 'The newest hundred; fewer where they would name more than 10,000 plugins together.',
        json: z.object({
          generations: z.array(
            z.object({
              number: count,
              reason: text,
              madeBy: text,
              madeAtMs: atMs,
              plugins: z.array(z.object({ id: text, version: text })),
            }),
          ),
        }),
      },
    },
  },
  'POST /api/operator/generations/:number/restore': {
    summary: 'Enables again what was enabled then.',
    params: { number: 'Its number.' },
    body: restoreRequest,
    isBodyOptional: true,
    replies: changed,
    errors,
  },
} satisfies ApiContracts
