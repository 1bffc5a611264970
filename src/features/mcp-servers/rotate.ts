import type { McpServerRow, McpServerStore } from '#runtime/catalog/types/mcp.ts'
import { fromReply } from '#contracts/reply.ts'
import type { Rotation } from '#features/access/types/secrets.ts'
import type { AtServer } from './gateway.ts'

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
      const message = `No key opens the sign-in${of} at the MCP server ${id}. Sign in again: isola mcp login ${id}${mine}`
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
