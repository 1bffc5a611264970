import * as z from 'zod'
import { secretNamesIn, type McpServerConfig, mcpServerSchema } from '#runtime/catalog/types/mcp.ts'
import type { SecretAdministration } from '#features/access/types/secrets.ts'

/** Names of the secrets that a server's configuration needs and that are not set. */
export async function missingSecrets(
  { secrets }: { readonly secrets: Pick<SecretAdministration, 'list'> },
  { headers, clientSecret = '' }: McpServerConfig,
): Promise<readonly string[]> {
  const isSet = new Set((await secrets.list()).map(({ name }) => name))
  const named = [...Object.values(headers), clientSecret].flatMap(secretNamesIn)
  return [...new Set(named)].filter((name) => !isSet.has(name))
}

/** The note about a secret that a server needs and that is not set. */
export const notSet = (name: string): string =>
  `The secret ${name} is not set; set it: isola secret set ${name}`

const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be the 64 hex digits that were shown')
const names = z.array(z.string().min(1).max(2_100)).max(500)

/** `POST /api/operator/mcp`. */
export const addServerRequest = mcpServerSchema
  .unwrap()
  .extend({ replace: z.boolean().default(false) })
/** `POST /api/mcp/:server/login/finish`. */
export const finishOwnLoginRequest = z.strictObject({
  code: z.string().regex(/^login_[0-9A-Za-z]{22}$/, 'must be the code that the browser showed'),
})
/** `POST …/mcp/:server/approve`. */
export const approveServerRequest = z.strictObject({
  hash,
  items: names.optional(),
  confirm: names.default([]),
  harmless: names.default([]),
  closed: names.default([]),
})
