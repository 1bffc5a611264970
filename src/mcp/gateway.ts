import type { McpServerApi } from '#contracts/mcp.ts'
import { lengthPrefixed } from '#contracts/naming.ts'

/** Reaches the object of one server. */
export function createMcpGateway({
  namespace,
  sha256,
}: {
  readonly namespace: { readonly getByName: (name: string) => unknown }
  readonly sha256: (text: string) => string
}): (id: string) => McpServerApi {
  return (id) => namespace.getByName(sha256(lengthPrefixed(['mcp', id]))) as McpServerApi
}
