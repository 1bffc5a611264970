import * as z from 'zod'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { SecretAdministration } from '../types/secrets.ts'
import { noBody } from '#platform/routes/answer.ts'
import { operators } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, count, text, reply } from '#platform/routes/shapes.ts'

interface SecretDeps {
  readonly secrets: SecretAdministration
  readonly plugins: Pick<PluginAdministration, 'list'>
}

const setSecretRequest = z.strictObject({
  name: z.string('must be a text such as GITHUB_TOKEN'),
  value: z.string('must be a text'),
})
const secret = { name: text, keyId: text, setBy: text, setAtMs: atMs }
const askedBy = z.array(text).describe('The plugins that ask for it.')

/** `/api/operator/secrets…`: names of secrets, and the plugins that request them; never a value. */
export default [
  route('GET /api/operator/secrets', {
    roles: operators,
    summary: 'Lists which secrets are set, and which are asked for and are not.',
    replies: reply(
      200,
      'Their names, never a value.',
      z.object({
        secrets: z.array(z.object({ ...secret, askedBy })),
        missing: z.array(z.object({ name: text, askedBy })),
      }),
    ),
    async handle({ secrets, plugins }: SecretDeps) {
      const [all, installed] = await Promise.all([secrets.list(), plugins.list()])
      const askedBy = (name: string) =>
        installed.filter((plugin) => plugin.secrets.includes(name)).map(({ id }) => id)
      const isSet = new Set(all.map(({ name }) => name))
      const asked = new Set(installed.flatMap((plugin) => plugin.secrets))
      return {
        secrets: all.map((one) => ({ ...one, askedBy: askedBy(one.name) })),
        missing: [...asked]
          .filter((name) => !isSet.has(name))
          .toSorted()
          .map((name) => ({ name, askedBy: askedBy(name) })),
      }
    },
  }),
  route('POST /api/operator/secrets', {
    roles: operators,
    summary: 'Sets a secret. No answer, event or log ever holds its value again.',
    body: setSecretRequest,
    replies: reply(200, 'It is set.', z.object(secret)),
    handle: ({ secrets }: SecretDeps, { body, by }) => secrets.set(body, by()),
  }),
  route('POST /api/operator/secrets/rotate', {
    roles: operators,
    summary: 'Seals every secret under the current key of the deployment.',
    body: noBody,
    replies: reply(
      200,
      'What was done.',
      z.object({
        rotated: count,
        current: count.describe('Under the new key before.'),
        failed: z.array(z.object({ name: text, message: text })),
      }),
    ),
    handle: ({ secrets }: SecretDeps, { by }) => secrets.rotate(by()),
  }),
  route('DELETE /api/operator/secrets/:name', {
    roles: operators,
    summary: 'Forgets a secret.',
    params: { name: 'Its name.' },
    replies: reply(200, 'It is gone.', z.object({ name: text, removed: z.literal(true) })),
    async handle({ secrets }: SecretDeps, { params: { name }, by }) {
      await secrets.remove(name, by())
      return { name, removed: true }
    },
  }),
] as const
