import type * as z from 'zod'
import { addPluginOptions, addPluginQuery } from '#runtime/catalog/types/installed-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import type { Upload } from '#runtime/catalog/types/plugin-upload.ts'
import { readJsonObject, readZip } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { changeBy } from '#runtime/session/requests/change-by.ts'
import { recordRefusal } from '#runtime/session/requests/record-refusal.ts'

/** `POST /api/operator/plugins`: installs a version, which enables nothing. */
export const addPlugin = (deps: HttpDeps) => async (context: HttpContext) => {
  const { upload, allowDowngrade, replace, takeOver, now } = await readRequest(context)
  const by = changeBy(deps, context)
  const read = await deps.readUpload(upload).catch(async (error: unknown) => {
    await recordRefusal(deps, by, { asked: 'add', error })
    throw error
  })
  const { text, hash, manifest, bundle, source, tier, signer, notes } = read
  const plugin = {
    id: manifest.id,
    version: manifest.version,
    hash,
    manifest: bundle.manifest,
    source,
    tier,
    ...(signer !== undefined && { signer }),
    installedAtMs: deps.sources.clock.nowMs(),
    installedBy: by.principal,
  }
  const more = {
    ...(allowDowngrade && { allowDowngrade }),
    ...(replace && { replace }),
    ...(takeOver && { takeOver }),
    ...(now && { now }),
  }
  const change = { do: 'add', plugin, bundle: text, ...more } as const
  const result = await deps.plugins.change(change, by)
  return jsonResponse({ ...result, notes: [...notes, ...result.notes] }, { status: 201 })
}

async function readRequest(
  context: HttpContext,
): Promise<{ readonly upload: Upload } & z.infer<typeof addPluginOptions>> {
  const type = context.req.header('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type === 'application/zip' || type === 'application/x-zip-compressed') {
    const asked = parseFields(addPluginQuery, context.req.query())
    return { upload: { zip: await readZip(context.req.raw) }, ...asked }
  }
  parseFields(noFields, context.req.query())
  const { allowDowngrade, replace, takeOver, now, ...json } = await readJsonObject(context.req.raw)
  return {
    upload: { json },
    ...parseFields(addPluginOptions, { allowDowngrade, replace, takeOver, now }),
  }
}
