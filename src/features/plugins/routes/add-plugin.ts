import { defined } from '#contracts/defined.ts'
import type * as z from 'zod'
import { addPluginOptions, addPluginQuery } from './requests.ts'
import { noFields } from '#platform/routes/answer.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { ReadPluginUpload, Upload } from '#runtime/catalog/types/plugin-upload.ts'
import { readJsonObject, readZip } from '#platform/routes/body.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { changeBy, recordRefusal, type RefusalDeps } from '#runtime/session/requests/asker.ts'
import type { RequestContext } from '#platform/routes/request.ts'

export interface AddPluginDeps extends RefusalDeps {
  readonly plugins: Pick<PluginAdministration, 'change'>
  readonly readUpload: ReadPluginUpload
}

/** `POST /api/operator/plugins`: installs a version, which enables nothing. */
export async function addPlugin(deps: AddPluginDeps, context: RequestContext) {
  const { upload, allowDowngrade, replace, takeOver, now } = await readRequest(context)
  const by = changeBy(context)
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
    ...defined({ signer }),
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
  return { ...result, notes: [...notes, ...result.notes] }
}

async function readRequest(
  context: RequestContext,
): Promise<{ readonly upload: Upload } & z.infer<typeof addPluginOptions>> {
  const type = context.raw.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type === 'application/zip' || type === 'application/x-zip-compressed') {
    const asked = parseFields(addPluginQuery, context.search)
    return { upload: { zip: await readZip(context.raw) }, ...asked }
  }
  parseFields(noFields, context.search)
  const { allowDowngrade, replace, takeOver, now, ...json } = await readJsonObject(context.raw)
  return {
    upload: { json },
    ...parseFields(addPluginOptions, { allowDowngrade, replace, takeOver, now }),
  }
}
