import type { McpServerStore } from '#runtime/catalog/types/mcp.ts'
import type { AtServer } from './gateway.ts'

type At = AtServer<'forget' | 'signers' | 'removeSigner'>

/**
 * What is kept of a server is gone, in its own object and in those of its principals. Which they are is forgotten last,
 * so that what was cut is done by doing it again.
 */
export async function forgetServer(id: string, at: At): Promise<void> {
  const signers = await at(id).signers()
  await Promise.all(signers.map(({ principal }) => at(id, principal).forget()))
  await at(id).forget()
}

/** What is kept of one principal at a server is gone. */
export async function forgetSigner(id: string, principal: string, at: At): Promise<void> {
  await at(id, principal).forget()
  await at(id).removeSigner(principal)
}

/**
 * What is kept of one principal is gone at every server where it began to sign in.
 * @returns Those servers.
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
