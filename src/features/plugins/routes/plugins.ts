import {
  acceptPluginRequest,
  enablePluginRequest,
  grantPluginRequest,
  removePluginQuery,
  restoreRequest,
} from '#runtime/catalog/types/installed-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { PluginChange, PluginView } from '#runtime/catalog/types/plugin-catalog.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { addPlugin } from './add-plugin.ts'
import { changeBy } from '#runtime/session/requests/change-by.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `/api/operator/plugins…`: what is installed, and every change of it. */
export function addPluginRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/operator/plugins', { GET: listPlugins(deps), POST: addPlugin(deps) })
  addRoute('/api/operator/plugins/:plugin', { GET: showPlugin(deps), DELETE: removePlugin(deps) })
  addRoute('/api/operator/plugins/:plugin/accept', { POST: acceptPlugin(deps) })
  addRoute('/api/operator/plugins/:plugin/grant', { POST: grantPlugin(deps) })
  addRoute('/api/operator/plugins/:plugin/revoke', { POST: plainChange(deps, 'revoke') })
  addRoute('/api/operator/plugins/:plugin/enable', { POST: enablePlugin(deps) })
  addRoute('/api/operator/plugins/:plugin/disable', { POST: plainChange(deps, 'disable') })
  addRoute('/api/operator/plugins/:plugin/rollback', { POST: plainChange(deps, 'rollback') })
  addRoute('/api/operator/generations', { GET: listGenerations(deps) })
  addRoute('/api/operator/generations/:number/restore', { POST: restoreGeneration(deps) })
}

const listPlugins: Handle = (deps) => async () => {
  const [plugins, [newest]] = await Promise.all([deps.plugins.list(), deps.plugins.generations(1)])
  return jsonResponse({
    generation: newest?.number ?? 0,
    plugins: plugins.map(({ secrets: _names, ...listing }) => listing),
  })
}

const showPlugin: Handle = (deps) => async (context) => {
  const id = idOf(context)
  const plugin = await deps.plugins.show(id)
  if (plugin) return jsonResponse({ ...plugin, versions: await signedVersions(deps, plugin) })
  throw new IsolaError('request_not_found', 'There is no such plugin.')
}

/** Says of each signed version whether its signer is still accepted: a key that was removed takes back nothing by itself. */
async function signedVersions({ trust }: HttpDeps, { versions }: PluginView) {
  const accepted = new Set((await trust.list()).map(({ name }) => name))
  return versions.map((version) =>
    version.signer === undefined
      ? version
      : { ...version, isSignerAccepted: accepted.has(version.signer) },
  )
}

/** A version that waits, named by its hash. */
const acceptPlugin: Handle = (deps) => async (context) => {
  const { hash: seen } = parseFields(acceptPluginRequest, await readJsonObject(context.req.raw))
  return changed(deps, context, { do: 'accept', id: idOf(context), hash: seen })
}

/** What was shown, with the hash it was shown for: anything else is refused. */
const grantPlugin: Handle = (deps) => async (context) => {
  const what = parseFields(grantPluginRequest, await readJsonObject(context.req.raw))
  return changed(deps, context, { do: 'grant', id: idOf(context), ...what })
}

const enablePlugin: Handle = (deps) => async (context) => {
  const body = await readJsonObject(context.req.raw, { whenEmpty: {} })
  const { config, hash: seen } = parseFields(enablePluginRequest, body)
  const more = { ...(config && { config }), ...(seen !== undefined && { hash: seen }) }
  return changed(deps, context, { do: 'enable', id: idOf(context), ...more })
}

/** `?purge=true`: with all that it keeps outside of sessions. */
const removePlugin: Handle = (deps) => async (context) => {
  const { purge } = parseFields(removePluginQuery, context.req.query())
  const id = idOf(context)
  const isPurge = purge === 'true'
  const response = await changed(deps, context, { do: 'remove', id }).catch((error: unknown) => {
    // A purge that was cut is asked for again when the plugin is gone already.
    if (isPurge && errorCode(error) === 'request_not_found') return jsonResponse({ notes: [] })
    throw error
  })
  // Nothing of it runs any more, so nothing is written behind it.
  if (isPurge) await deps.purgePlugin(id)
  // Last: as long as anything may be left, the id is its owner's.
  if (isPurge) await deps.plugins.change({ do: 'free', id }, changeBy(deps, context))
  return response
}

/** Those that need no more than the plugin's id. */
const plainChange =
  (deps: HttpDeps, what: 'revoke' | 'disable' | 'rollback') =>
  async (context: HttpContext): Promise<Response> => {
    parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
    return changed(deps, context, { do: what, id: idOf(context) })
  }

const listGenerations: Handle = (deps) => async () =>
  jsonResponse({ generations: await deps.plugins.generations(100) })

const restoreGeneration: Handle = (deps) => async (context) => {
  const body = await readJsonObject(context.req.raw, { whenEmpty: {} })
  const { withPolicy } = parseFields(restoreRequest, body)
  const text = context.req.param('number') ?? ''
  const generation = /^\d{1,9}$/.test(text) ? Number(text) : 0
  return changed(deps, context, { do: 'restore', generation, withPolicy })
}

async function changed(
  deps: HttpDeps,
  context: HttpContext,
  change: PluginChange,
): Promise<Response> {
  const result = await deps.plugins.change(change, changeBy(deps, context))
  await deps.schedules.syncPlugins('id' in change ? change.id : undefined)
  return jsonResponse(result)
}

const idOf = (context: HttpContext): string => context.req.param('plugin') ?? ''
