import type { McpServerApi, McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import { lengthPrefixed } from '#contracts/objects.ts'

/** Reaches the object of one server; where each principal signs in, that of one of them. */
export type AtServer<Part extends keyof McpServerApi = keyof McpServerApi> = (
  id: string,
  principal?: string,
) => Pick<McpServerApi, Part>

/** Reaches the objects of servers. */
export function createMcpGateway({
  namespace,
  sha256,
}: {
  readonly namespace: { readonly getByName: (name: string) => unknown }
  readonly sha256: (text: string) => string
}): AtServer {
  return (id, principal) => {
    const whose = principal === undefined ? [] : [principal]
    return namespace.getByName(sha256(lengthPrefixed(['mcp', id, ...whose]))) as McpServerApi
  }
}

/**
 * The object for a principal's calls: the shared object, or the principal's own where each signs in. Neither leads to
 * the other.
 */
export const ownerOf = (
  { auth }: Pick<McpServerConfig, 'auth'>,
  principal: string,
): string | undefined => (auth === 'principal' ? principal : undefined)
