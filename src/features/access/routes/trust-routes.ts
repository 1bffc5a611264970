import * as z from 'zod'
import { principalName } from '../types/keys.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { TrustAdministration } from '#runtime/catalog/types/plugin-upload.ts'
import { changeBy } from '#runtime/session/requests/asker.ts'
import { operators } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, text, reply } from '#platform/routes/shapes.ts'

interface TrustDeps {
  readonly trust: TrustAdministration
  readonly plugins: Pick<PluginAdministration, 'change'>
}

const addTrustRequest = z.strictObject({
  name: principalName,
  publicKey: z
    .string()
    .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be an Ed25519 public key, its 32 bytes as base64'),
})
const trusted = z
  .object({ id: text, name: text, publicKey: text, addedBy: text, addedAtMs: atMs })
  .meta({ id: 'TrustedKey' })

/**
 * `/api/operator/trust…`: the keys whose signatures make a plugin trusted. A new key does not change the tier of
 * installed plugins.
 */
export default [
  route('GET /api/operator/trust', {
    roles: operators,
    summary: 'Lists the keys whose signatures make a plugin trusted.',
    replies: reply(200, 'The keys.', z.object({ keys: z.array(trusted) })),
    async handle({ trust }: TrustDeps) {
      return { keys: await trust.list() }
    },
  }),
  route('POST /api/operator/trust', {
    roles: operators,
    summary: 'Accepts a key.',
    body: addTrustRequest,
    replies: reply(201, 'The key.', trusted),
    errors: [409],
    handle: ({ trust }: TrustDeps, { body, by }) => trust.add(body, by()),
  }),
  route('DELETE /api/operator/trust/:key', {
    roles: operators,
    summary: 'Accepts a key no more.',
    params: { key: 'Its name or id.' },
    replies: reply(200, 'The key.', trusted),
    async handle({ trust, plugins }: TrustDeps, request) {
      const removing = trust.remove(request.params.key, request.by())
      await removing.catch(() => {})
      // Also if the removal failed: plugins signed with the key become community from now on, and a repeated request
      // does the rest.
      await plugins.change({ do: 'distrust' }, changeBy(request))
      return removing
    },
  }),
] as const
