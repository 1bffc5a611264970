import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { Reply } from '#contracts/reply.ts'
import { toCallFailure } from './call-failure.ts'

/**
 * Returns the server's outcome as a value, without the secrets that open the server (docs/security.md T4): any reader
 * may see it.
 */
export async function replied<T>(
  {
    fromText,
    ...server
  }: Pick<McpServerConfig, 'id' | 'auth'> & { readonly fromText: (text: string) => string },
  work: () => Promise<T>,
): Promise<Reply<T>> {
  try {
    return { ok: true, value: await work() }
  } catch (error) {
    if (errorCode(error) === 'request_invalid')
      return {
        ok: false,
        error: { code: 'request_invalid', message: fromText(errorMessage(error)) },
      }
    const { message } = toCallFailure(error, server)
    return { ok: false, error: { code: 'request_unavailable', message: fromText(message) } }
  }
}
