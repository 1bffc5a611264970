import type { McpServerStore } from '#runtime/catalog/types/mcp.ts'
import type { EndedSession } from '#runtime/session/types/session-view.ts'
import { ownerOf, type AtServer } from './gateway.ts'

/** Tells all servers that a session tree is over, so that none keeps a session for it. Never rejects. */
export function createSessionEnded(
  {
    store,
    onFault,
  }: {
    readonly store: Pick<McpServerStore, 'list'>
    readonly onFault: (error: unknown) => void
  },
  at: AtServer<'endSession'>,
) {
  return async ({ session, rootSession, principal }: EndedSession): Promise<void> => {
    // A sub-agent uses its tree's session.
    if (session !== rootSession) return
    try {
      const servers = await store.list()
      const objects = servers.map(({ id, config }) => at(id, ownerOf(config, principal)))
      await Promise.all(objects.map((one) => one.endSession(rootSession).catch(onFault)))
    } catch (error) {
      onFault(error)
    }
  }
}
