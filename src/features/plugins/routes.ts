import * as z from 'zod'
import { errorCode, IsolaError } from '#contracts/errors.ts'
import type {
  PluginAdministration,
  PluginChange,
  PluginView,
} from '#runtime/catalog/types/plugin-catalog.ts'
import type { TrustAdministration } from '#runtime/catalog/types/plugin-upload.ts'
import { noBody } from '#platform/routes/answer.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { installers, operators, pluginReaders } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, count, notes, text } from '#platform/routes/shapes.ts'
import { addPlugin, type AddPluginDeps } from './routes/add-plugin.ts'
import { changeBy } from '#runtime/session/requests/asker.ts'
import { change, listed, plugin } from './routes/replies.ts'
import {
  acceptPluginRequest,
  addPluginOptions,
  addPluginQuery,
  enablePluginRequest,
  grantPluginRequest,
  removePluginQuery,
  restoreRequest,
} from './routes/requests.ts'

interface PluginDeps {
  readonly plugins: PluginAdministration
  readonly trust: Pick<TrustAdministration, 'list'>
  readonly schedules: {
    /** Brings the schedule of one plugin, or of all, up to date with the enabled manifests. Never throws. */
    readonly syncPlugins: (plugin?: string) => Promise<void>
  }
}

interface RemovePluginDeps extends PluginDeps {
  /** Deletes a plugin's stored values outside of sessions. */
  readonly purgePlugin: (id: string) => Promise<void>
}

const params = { plugin: 'Its id.' }
const errors = [409, 422]
/** What every change of an installed plugin has in common. */
const changing = { params, replies: { 200: { is: 'What it came to.', json: change } }, errors }

/** The handler of a change that takes the plugin alone. */
const changeTo =
  (to: 'revoke' | 'disable' | 'rollback') =>
  (deps: PluginDeps, request: RequestContext & { readonly params: { readonly plugin: string } }) =>
    applyChange(deps, request, { do: to, id: request.params.plugin })

/** The body of an installation: a built bundle, or its address. */
const upload = addPluginOptions.extend({
  bundle: z.unknown().optional().describe('What `isola plugin build` makes.'),
  url: text.optional().describe('Where a bundle or a zip is.'),
  signature: z.unknown().optional(),
  source: text.optional(),
})

/**
 * `/api/operator/plugins…`: the installed plugins, and every change of them; `/api/operator/generations…`: earlier
 * generations.
 */
export default [
  route('GET /api/operator/plugins', {
    roles: pluginReaders,
    summary: 'Lists what is installed.',
    replies: {
      200: {
        is: 'The plugins.',
        json: z.object({ generation: count, plugins: z.array(listed) }),
      },
    },
    async handle({ plugins }: PluginDeps) {
      const [all, [newest]] = await Promise.all([plugins.list(), plugins.generations(1)])
      return {
        generation: newest?.number ?? 0,
        plugins: all.map(({ secrets: _names, ...listing }) => listing),
      }
    },
  }),
  route('POST /api/operator/plugins', {
    roles: installers,
    summary: 'Installs a version, which enables nothing.',
    query: addPluginQuery,
    body: upload,
    otherBody: 'application/zip',
    replies: { 201: { is: 'It is there.', json: change } },
    errors: [404, 409, 422, 502],
    readsItself: true,
    handle: (deps: AddPluginDeps, request) => addPlugin(deps, request),
  }),
  route('GET /api/operator/plugins/:plugin', {
    roles: pluginReaders,
    summary: 'A plugin, with its versions and what it asks for.',
    params,
    replies: { 200: { is: 'The plugin.', json: plugin } },
    async handle(deps: PluginDeps, { params }) {
      const found = await deps.plugins.show(params.plugin)
      if (found) return { ...found, versions: await signedVersions(deps, found) }
      throw new IsolaError('request_not_found', 'There is no such plugin.')
    },
  }),
  route('DELETE /api/operator/plugins/:plugin', {
    roles: operators,
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
    async handle(deps: RemovePluginDeps, request) {
      const { plugin: id } = request.params
      const isPurge = request.query.purge === 'true'
      const done = await applyChange(deps, request, { do: 'remove', id }).catch(
        (error: unknown) => {
          // An interrupted purge is requested again after the plugin is gone.
          if (isPurge && errorCode(error) === 'request_not_found') return { notes: [] }
          throw error
        },
      )
      // No code of the plugin runs any more, so nothing is written after the purge.
      if (isPurge) await deps.purgePlugin(id)
      // Last: while data of the plugin may remain, the id stays its owner's.
      if (isPurge) await deps.plugins.change({ do: 'free', id }, changeBy(request))
      return done
    },
  }),
  route('POST /api/operator/plugins/:plugin/accept', {
    roles: operators,
    summary: 'Takes a version that waits.',
    ...changing,
    body: acceptPluginRequest,
    handle: (deps: PluginDeps, request) =>
      applyChange(deps, request, {
        do: 'accept',
        id: request.params.plugin,
        hash: request.body.hash,
      }),
  }),
  route('POST /api/operator/plugins/:plugin/grant', {
    roles: operators,
    summary: 'Allows what was shown, with the hash it was shown for.',
    ...changing,
    body: grantPluginRequest,
    handle: (deps: PluginDeps, request) =>
      applyChange(deps, request, { do: 'grant', id: request.params.plugin, ...request.body }),
  }),
  route('POST /api/operator/plugins/:plugin/revoke', {
    roles: operators,
    summary: 'Allows nothing any more.',
    ...changing,
    body: noBody,
    handle: changeTo('revoke'),
  }),
  route('POST /api/operator/plugins/:plugin/enable', {
    roles: operators,
    summary: 'Switches it on.',
    ...changing,
    body: enablePluginRequest.optional(),
    handle(deps: PluginDeps, request) {
      const { config, hash } = request.body
      const more = { ...(config && { config }), ...(hash !== undefined && { hash }) }
      return applyChange(deps, request, { do: 'enable', id: request.params.plugin, ...more })
    },
  }),
  route('POST /api/operator/plugins/:plugin/disable', {
    roles: operators,
    summary: 'Switches it off.',
    ...changing,
    body: noBody,
    handle: changeTo('disable'),
  }),
  route('POST /api/operator/plugins/:plugin/rollback', {
    roles: operators,
    summary: 'Goes back to the version before.',
    ...changing,
    body: noBody,
    handle: changeTo('rollback'),
  }),
  route('GET /api/operator/generations', {
    roles: pluginReaders,
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
    async handle({ plugins }: PluginDeps) {
      return { generations: await plugins.generations(100) }
    },
  }),
  route('POST /api/operator/generations/:number/restore', {
    roles: operators,
    summary: 'Enables again what was enabled then.',
    ...changing,
    params: { number: 'Its number.' },
    body: restoreRequest.optional(),
    handle(deps: PluginDeps, request) {
      const { number } = request.params
      const generation = /^\d{1,9}$/.test(number) ? Number(number) : 0
      const { withPolicy } = request.body
      return applyChange(deps, request, { do: 'restore', generation, withPolicy })
    },
  }),
] as const

/**
 * Adds to each signed version whether its signer is still accepted: removing a key does not by itself revoke
 * versions.
 */
async function signedVersions({ trust }: PluginDeps, { versions }: PluginView) {
  const accepted = new Set((await trust.list()).map(({ name }) => name))
  return versions.map((one) =>
    one.signer === undefined ? one : { ...one, isSignerAccepted: accepted.has(one.signer) },
  )
}

async function applyChange(
  { plugins, schedules }: PluginDeps,
  context: RequestContext,
  asked: PluginChange,
) {
  const result = await plugins.change(asked, changeBy(context))
  await schedules.syncPlugins('id' in asked ? asked.id : undefined)
  return result
}
