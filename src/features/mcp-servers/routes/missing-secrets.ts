import { secretNamesIn, type McpServerConfig } from '#runtime/catalog/types/mcp.ts'
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
