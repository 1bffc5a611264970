import type { McpServerApi, McpServerStore } from '#contracts/mcp.ts'
import { fromReply } from '#contracts/reply.ts'
import type { Rotation } from '#contracts/secrets.ts'

/** What is kept of sign-ins, sealed anew at every server that has one. A server that fails holds up none of the others. */
export async function rotateServers(
  {
    store,
    onFault,
  }: { readonly store: McpServerStore; readonly onFault: (error: unknown) => void },
  at: (id: string) => Pick<McpServerApi, 'reseal'>,
): Promise<Rotation> {
  const servers = (await store.list()).filter(({ config }) => config.auth === 'oauth')
  const done = await Promise.all(servers.map(({ id }) => rotateOne(id, at, onFault)))
  return {
    rotated: sum(done.map(({ rotated }) => rotated)),
    current: sum(done.map(({ current }) => current)),
    failed: done.flatMap(({ failed }) => failed),
  }
}

async function rotateOne(
  id: string,
  at: (id: string) => Pick<McpServerApi, 'reseal'>,
  onFault: (error: unknown) => void,
): Promise<Rotation> {
  const failedWith = (message: string) => [{ name: `MCP server ${id}`, message }]
  try {
    const { rotated, current, locked } = fromReply(await at(id).reseal())
    const lost = `No key opens the sign-in at the MCP server ${id}. Sign in again: isola mcp login ${id}`
    return { rotated, current, failed: locked > 0 ? failedWith(lost) : [] }
  } catch (error) {
    onFault(error)
    return {
      rotated: 0,
      current: 0,
      failed: failedWith(`The MCP server ${id} could not be asked. Try again.`),
    }
  }
}

const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0)
