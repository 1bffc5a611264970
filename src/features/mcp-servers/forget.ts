import type { McpServerStore } from '#runtime/catalog/types/mcp.ts'
import type { AtServer } from './gateway.ts'

type At = AtServer<'forget' | 'signers' | 'removeSigner'>

/**
 * Deletes all rows of a server, in its own object and in its principals' objects. The list of those principals goes
 * last, so that a deletion that was cut off can be repeated.
 */
export async function forgetServer(id: string, at: At): Promise<void> {
  const signers = await at(id).signers()
  await Promise.all(signers.map(({ principal }) => at(id, principal).forget()))
  await at(id).forget()
}

/** Deletes all rows of one principal at a server. */
export async function forgetSigner(id: string, principal: string, at: At): Promise<void> {
  await at(id, principal).forget()
  await at(id).removeSigner(principal)
}

/**
 * Deletes all rows of one principal at every server where it began to sign in.
 * @returns The ids of the servers.
 */
export async function forgetPrincipal(
  principal: string,
  { store, at }: { readonly store: Pick<McpServerStore, 'list'>; readonly at: At },
): Promise<readonly string[]> {
  const servers = (await store.list()).filter(({ config }) => config.auth === 'principal')
  const gone = await Promise.all(
    servers.map(async ({ id }) => {
      const signers = await at(id).signers()
      if (!signers.some((one) => one.principal === principal)) return []
      await forgetSigner(id, principal, at)
      return [id]
    }),
  )
  return gone.flat()
}
