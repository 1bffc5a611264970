import type { McpServerApi, McpServerStore } from '#contracts/mcp.ts'
import type { EndedSession } from '#contracts/session-view.ts'

/** Tells all servers that a session tree is over, so that none keeps a session for it. Never rejects. */
export function createSessionEnded(
  {
    store,
    onFault,
  }: {
    readonly store: Pick<McpServerStore, 'list'>
    readonly onFault: (error: unknown) => void
  },
  at: (id: string) => Pick<McpServerApi, 'endSession'>,
) {
  return async ({ session, rootSession }: EndedSession): Promise<void> => {
    // What a sub-agent has is its tree's.
    if (session !== rootSession) return
    try {
      const servers = await store.list()
      await Promise.all(servers.map(({ id }) => at(id).endSession(rootSession).catch(onFault)))
    } catch (error) {
      onFault(error)
    }
  }
}
