import * as z from 'zod'
import { atMs, count, flag, notes, object, text } from '#platform/routes/shapes.ts'

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
export const listed = z
  .object({
    ...row,
    name: text.nullable(),
    description: text.nullable(),
    versions: count,
    waiting: count,
  })
  .meta({ id: 'PluginListing' })
export const plugin = z
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

export const change = z
  .object({ generation: count, plugin: plugin.optional(), notes })
  .meta({ id: 'PluginChange' })
