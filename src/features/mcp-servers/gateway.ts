import type {
  McpServerApi,
  McpServerConfig,
  McpServerStore,
  McpServerRow,
} from '#runtime/catalog/types/mcp.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import { fromReply } from '#contracts/reply.ts'
import type { Rotation } from '#features/access/types/secrets.ts'
import type { EndedSession } from '#runtime/session/types/session-view.ts'

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

interface RotateDeps {
  readonly store: McpServerStore
  readonly onFault: (error: unknown) => void
}

/** Seals sign-ins anew in every object that has any. A failure in one object does not hold up the others. */
export async function rotateServers(
  { store, onFault }: RotateDeps,
  at: AtServer<'reseal' | 'signers'>,
): Promise<Rotation> {
  const servers = (await store.list()).filter(({ config }) => config.auth !== 'headers')
  const done = await Promise.all(servers.map((row) => rotateOne(row, at, onFault)))
  return {
    rotated: sum(done.map(({ rotated }) => rotated)),
    current: sum(done.map(({ current }) => current)),
    failed: done.flatMap(({ failed }) => failed),
  }
}

async function rotateOne(
  { id, config }: McpServerRow,
  at: AtServer<'reseal' | 'signers'>,
  onFault: (error: unknown) => void,
): Promise<Rotation> {
  let [rotated, current] = [0, 0]
  const failed: { readonly name: string; readonly message: string }[] = []
  const one = async (principal?: string): Promise<void> => {
    const [of, mine] = principal === undefined ? ['', ''] : [` of ${principal}`, ' --mine']
    const name = `MCP server ${id}${of}`
    try {
      const done = fromReply(await at(id, principal).reseal())
      rotated += done.rotated
      current += done.current
      const message =
        `No key opens the sign-in${of} at the MCP server ${id}. Sign in again: isola ` +
        `mcp login ${id}${mine}`
      if (done.locked > 0) failed.push({ name, message })
    } catch (error) {
      onFault(error)
      failed.push({ name, message: `The MCP server ${id} could not be asked. Try again.` })
    }
  }
  if (config.auth === 'oauth') await one()
  // One after the other: there may be as many as principals.
  else for (const principal of await signersOf(id)) await one(principal)
  return { rotated, current, failed }

  async function signersOf(server: string): Promise<readonly string[]> {
    try {
      return (await at(server).signers()).map(({ principal }) => principal)
    } catch (error) {
      onFault(error)
      const message = `The MCP server ${server} could not be asked. Try again.`
      failed.push({ name: `MCP server ${server}`, message })
      return []
    }
  }
}

const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0)

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
