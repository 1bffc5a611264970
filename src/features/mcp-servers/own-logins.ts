import { defined } from '#contracts/defined.ts'
import type { DeploymentDraft } from '#contracts/event.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { McpServerApi, McpServerRow } from '#runtime/catalog/types/mcp.ts'
import type { McpOwnLogins, McpSelf } from '#runtime/catalog/types/part-kind.ts'
import { fromReply } from '#contracts/reply.ts'
import { forgetSigner, type AtServer } from './gateway.ts'

/** The methods of a server's objects that a principal's sign-in calls. */
export type OwnLoginParts = keyof Pick<
  McpServerApi,
  'standing' | 'login' | 'confirmLogin' | 'forget' | 'signers' | 'addSigner' | 'removeSigner'
>

/** The rows of servers, their objects, and the record. */
export interface OwnLoginDeps {
  /** Throws `request_not_found`. */
  readonly rowOf: (id: string) => Promise<McpServerRow>
  readonly at: AtServer<OwnLoginParts>
  /** Puts on the record what this one did. Never throws. */
  readonly told: (draft: DeploymentDraft, by: Pick<McpSelf, 'principal' | 'trace'>) => Promise<void>
}

/** Signing in at a server by a principal for itself, and out again. */
export function createOwnLogins({ rowOf, at, told }: OwnLoginDeps): McpOwnLogins {
  const serverFor = async (id: string, { role }: McpSelf): Promise<McpServerRow> => {
    const row = await rowOf(id)
    if (row.state !== 'enabled' && role !== 'operator') throw noSuchServer()
    if (row.config.auth !== 'principal') throw notEach(row)
    return row
  }
  const signerOf = async (id: string, { principal }: McpSelf) =>
    (await at(id).signers()).find((one) => one.principal === principal)
  /**
   * Undoes a sign-in that ran while an operator removed or replaced the server, or the principal signed out: neither
   * saw the rows that the sign-in wrote.
   */
  const unlessGone = async (before: McpServerRow, by: McpSelf): Promise<void> => {
    const { id, addedAtMs } = before
    const [now, signer] = await Promise.all([rowOf(id).catch(() => undefined), signerOf(id, by)])
    const isSame = now?.addedAtMs === addedAtMs
    if (isSame && signer) return
    await forgetSigner(id, by.principal, at)
    throw isSame ? notBegun() : noSuchServer()
  }
  return {
    async show(id, by) {
      const { config } = await serverFor(id, by)
      const { login, isDenied } = await at(id, by.principal).standing(config)
      const state = login === 'signed_in' ? 'signed_in' : 'signed_out'
      return { state, ...defined({ isDenied }) }
    },
    async begin(id, by, origin) {
      const row = await serverFor(id, by)
      const signer = await at(id).addSigner(by.principal)
      const object = at(id, by.principal)
      const reply = await object.login(row.config, origin, signer)
      await unlessGone(row, by)
      // A sign-in that did not reach a page leaves no rows.
      if (!reply.ok && (await object.standing(row.config)).login !== 'signed_in')
        await forgetSigner(id, by.principal, at)
      return fromReply(reply)
    },
    async finish(id, by, code) {
      const row = await serverFor(id, by)
      if (!(await signerOf(id, by))) throw notBegun()
      const reply = await at(id, by.principal).confirmLogin(row.config, code)
      await unlessGone(row, by)
      fromReply(reply)
    },
    async end(id, by) {
      const { config } = await serverFor(id, by)
      const { principal, requestId: request } = by
      if (!(await signerOf(id, by))) return
      const { login } = await at(id, principal).standing(config)
      await forgetSigner(id, principal, at)
      if (login !== 'signed_in') return
      await told({ type: 'mcp_signed_out', data: { server: id, owner: principal, request } }, by)
    },
  }
}

const notBegun = () =>
  new IsolaError('request_invalid', 'This sign-in is not one that was begun here, or it is over.')

const noSuchServer = () => new IsolaError('request_not_found', 'There is no such MCP server.')

function notEach({ id, config }: McpServerRow): IsolaError {
  const message =
    config.auth === 'oauth'
      ? `The deployment signs in at "${id}", for everybody: isola mcp login ${id} (an operator).`
      : `Nobody signs in at "${id}": its headers are all there is.`
  return new IsolaError('request_conflict', message)
}
