import { z } from 'zod'
import { parseManifest } from '#contracts/manifest.ts'
import { toBundleText } from '#contracts/plugin-bundle.ts'
import { readJsonObject } from '../body.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'
import { changeBy } from './change-by.ts'

const addRequest = z.strictObject({
  bundle: z.strictObject({
    manifest: z.unknown(),
    code: z.string().optional(),
    files: z.record(z.string(), z.string()).default({}),
  }),
  source: z.string().max(500).optional(),
  allowDowngrade: z.boolean().optional(),
})

/** `POST /api/operator/plugins`: installs a version, which enables nothing. */
export const addPlugin = (deps: HttpDeps) => async (context: HttpContext) => {
  const {
    bundle,
    source = 'upload',
    allowDowngrade,
  } = parseFields(addRequest, await readJsonObject(context.req.raw))
  const { id, version } = parseManifest(bundle.manifest)
  const { manifest, code, files } = bundle
  const text = toBundleText({ manifest, files, ...(code !== undefined && { code }) })
  const hash = deps.sources.sha256(text)
  await deps.bundles.save(hash, text)
  const by = changeBy(deps, context)
  const plugin = {
    id,
    version,
    hash,
    manifest,
    source,
    tier: 'community' as const,
    installedAtMs: deps.sources.clock.nowMs(),
    installedBy: by.principal,
  }
  const change = { do: 'add', plugin, ...(allowDowngrade && { allowDowngrade }) } as const
  return jsonResponse(await deps.plugins.change(change, by), { status: 201 })
}
