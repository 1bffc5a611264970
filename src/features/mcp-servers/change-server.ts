import { invalidField } from '#platform/routes/json-shape.ts'
import { errorCode, IsolaError } from '#contracts/errors.ts'
import type {
  McpChange,
  McpPin,
  McpServerConfig,
  McpServerRow,
  McpServerStore,
} from '#runtime/catalog/types/mcp.ts'
import type { McpDecisions, McpOutcome } from '#runtime/catalog/types/part-kind.ts'
import { pinsOf, withoutPin, withPin, type Generation } from '#runtime/catalog/types/generation.ts'
import type { CheckUrl } from '#contracts/outbound.ts'
import type { ChangeBy, BundleStore } from '#runtime/catalog/types/plugin-catalog.ts'

/** The state from which a change of the servers is decided. */
interface DecisionDeps {
  readonly store: McpServerStore
  readonly bundles: Pick<BundleStore, 'load'>
  readonly nowMs: () => number
  readonly checkUrl: CheckUrl
  /** Ids that are taken by plugins that ship with the deployment, or by the core. */
  readonly isTaken: (id: string) => boolean
}

const maxServers = 1_000

/** Changes of remote servers, decided where every change of what is enabled is: one after the other. */
export function createMcpDecisions(deps: DecisionDeps): McpDecisions {
  const { store } = deps
  return {
    async decide(change, now, by) {
      if (change.do === 'add') {
        const [before, rows] = await Promise.all([store.find(change.config.id), store.list()])
        return add(change, { now, by, deps, before, count: rows.length })
      }
      const row = await store.find(change.id)
      if (!row || row.state === 'removed')
        throw new IsolaError('request_not_found', 'There is no such MCP server.')
      return changeRow(change, row, now)
    },
    async restore(generation) {
      const then = pinsOf(generation, 'mcp')
      const rows = await store.list()
      const lost = await lostIn(then, rows, deps)
      const notes: string[] = []
      const regained: string[] = []
      const servers = rows.flatMap((row): readonly McpServerRow[] => {
        const named = then.find(({ id }) => id === row.id)
        // Another server under the same name: the approval of the old server says nothing of this one.
        const same = named?.addedAtMs === row.addedAtMs ? named : undefined
        const pin = same && !lost.has(same.hash) ? same : undefined
        if (same && !pin)
          notes.push(
            `The MCP server "${row.id}" stays off: what was approved of it then is not kept any more. ` +
              `isola mcp approve ${row.id}`,
          )
        if (named && !same)
          notes.push(`The MCP server "${row.id}" stays off: it was added anew since.`)
        if (!pin)
          return row.state === 'enabled'
            ? [{ ...row, state: 'disabled', epoch: row.epoch + 1 }]
            : []
        regained.push(...regainedOf(row, pin))
        const { config, hash, confirmed } = pin
        return [
          { ...row, config, confirmed, approvedHash: hash, state: 'enabled', epoch: row.epoch + 1 },
        ]
      })
      for (const { id } of then)
        if (!rows.some((row) => row.id === id))
          notes.push(`The MCP server "${id}" stays away: it was removed since.`)
      return { servers, mcp: servers.flatMap(toPin), notes: [...notes, ...regained], regained }
    },
  }
}

/** The ids of servers whose approved definitions were deleted since; definitions of today's rows are stored. */
async function lostIn(
  then: readonly McpPin[],
  rows: readonly McpServerRow[],
  { bundles }: Pick<DecisionDeps, 'bundles'>,
): Promise<ReadonlySet<string>> {
  const has = new Set(rows.map(({ approvedHash }) => approvedHash))
  const lost = new Set<string>()
  for (const { hash } of then.filter((pin) => !has.has(pin.hash))) {
    await bundles.load(hash).catch((error: unknown) => {
      if (errorCode(error) !== 'plugin_code_unavailable') throw error
      lost.add(hash)
    })
  }
  return lost
}

/** Rights that an operator took back or changed since, and that going back restores. */
function regainedOf(row: McpServerRow, { config, confirmed, hash }: McpPin): readonly string[] {
  const hosts = [config.url, ...config.authHosts].join(', ')
  const believed = confirmed.filter((name) => !row.confirmed.includes(name))
  const parts = [
    ...(row.state === 'enabled' ? [] : [`is on again (${hosts})`]),
    ...(row.approvedHash === hash ? [] : ['has again what was approved of it then']),
    ...(believed.length > 0 ? [`is believed again in what it says of ${believed.join(', ')}`] : []),
  ]
  return parts.map((part) => `The MCP server "${row.id}" ${part}.`)
}

interface Adding {
  readonly now: Generation
  readonly by: ChangeBy
  readonly deps: DecisionDeps
  /** Also one that was removed: its epoch goes on. */
  readonly before: McpServerRow | undefined
  readonly count: number
}

/** Adding never enables, and another address under an old name begins anew. */
function add(
  { config, replace = false }: Extract<McpChange, { readonly do: 'add' }>,
  { now, by, deps, before, count }: Adding,
): McpOutcome {
  const { id } = config
  if (deps.isTaken(id))
    throw new IsolaError(
      'request_conflict',
      `id: "${id}" is taken; tools of two owners would have one name.`,
      { param: 'id' },
    )
  const isThere = before !== undefined && before.state !== 'removed'
  if (isThere && !replace)
    throw new IsolaError(
      'request_conflict',
      `id: "${id}" is there already. To replace it, with all that was approved of it: --replace (replace: true).`,
      { param: 'id' },
    )
  if (!isThere && count >= maxServers)
    throw new IsolaError('request_conflict', `There are ${maxServers} MCP servers already.`)
  checkAddress(config, deps.checkUrl)
  checkHeaders(config)
  const row: McpServerRow = {
    id,
    config,
    state: 'added',
    confirmed: [],
    epoch: (before?.epoch ?? 0) + 1,
    addedBy: by.principal,
    addedAtMs: deps.nowMs(),
  }
  return {
    servers: [row],
    ...(before?.state === 'enabled' && { mcp: without(now, id) }),
    told: {
      type: 'mcp_added',
      data: {
        server: id,
        url: config.url,
        headers: Object.keys(config.headers),
        auth: config.auth,
        allow: config.allow,
      },
    },
    notes: [
      ...(isThere ? [`"${id}" was there before: nothing is approved of it any more.`] : []),
      ...(new URL(config.url).search === ''
        ? []
        : [
            'Its URL has a query, which everybody reads who may read this server: no secret in it.',
          ]),
    ],
  }
}

function checkAddress({ url, authHosts }: McpServerConfig, checkUrl: CheckUrl): void {
  try {
    if (checkUrl(url).hash !== '')
      throw new Error('The request was refused: a URL with a # is not allowed.')
    for (const host of authHosts) checkUrl(`https://${host}/`)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw invalidField('url', message)
  }
}

const credentialHeader =
  /^(authorization|cookie2?|.*(api[-_]?key|token|secret|auth|session|signature|password).*|(.*[-_])?(key|pat)([-_].*)?)$/i
/** Beside the secret only the word of a scheme: anything more could be a second secret. */
const schemeAndSecret = /^([A-Za-z][A-Za-z0-9-]{0,15} )?\$\{secret:[A-Z][A-Z0-9_]{0,63}\}$/
const ofTheHost =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|content-type|accept|mcp-.*|last-event-id|proxy-.*|cf-.*)$/i

/** A value that opens something is named, never written down. */
function checkHeaders({ headers, auth }: McpServerConfig): void {
  for (const [name, value] of Object.entries(headers)) {
    const param = `headers.${name}`
    if (auth === 'principal' && name.toLowerCase() === 'authorization')
      throw invalidField(
        param,
        'is what each principal signs in for; leave it out, or add the server without auth: principal ' +
          '(--each-signs-in).',
      )
    if (ofTheHost.test(name)) throw invalidField(param, 'is set by the host; leave it out.')
    if (/[^\t\x20-\x7e]/.test(value))
      throw invalidField(param, 'has a character that no header may have.')
    if (credentialHeader.test(name) && !schemeAndSecret.test(value))
      throw invalidField(
        param,
        `must name a secret, not hold it: isola secret set NAME, then "\${secret:NAME}" in its place.`,
      )
  }
}

type RowChange = Exclude<McpChange, { readonly do: 'add' }>

function changeRow(change: RowChange, row: McpServerRow, now: Generation): McpOutcome {
  const { id } = row
  const next = { ...row, epoch: row.epoch + 1 }
  const data = { server: id }
  switch (change.do) {
    case 'approve': {
      if (change.epoch !== row.epoch)
        throw new IsolaError(
          'request_conflict',
          `"${id}" was changed meanwhile. Look again (isola mcp show ${id}) and approve what you see.`,
        )
      const approved = { ...next, approvedHash: change.hash, confirmed: change.confirmed }
      return {
        servers: [approved],
        ...(row.state === 'enabled' && { mcp: withRow(now, approved) }),
        told: {
          type: 'mcp_approved',
          data: {
            ...data,
            hash: change.hash,
            confirmed: change.confirmed,
            lines: change.lines.slice(0, 500),
          },
        },
        notes: row.state === 'enabled' ? [] : [`Next: isola mcp enable ${id}`],
      }
    }
    case 'enable': {
      if (row.approvedHash === undefined)
        throw new IsolaError(
          'request_conflict',
          `Nothing of "${id}" is approved yet: isola mcp approve ${id}`,
        )
      const enabled = { ...next, state: 'enabled' as const }
      return {
        servers: [enabled],
        mcp: withRow(now, enabled),
        told: { type: 'mcp_enabled', data },
        notes: [],
      }
    }
    case 'disable':
      return {
        servers: [{ ...next, state: 'disabled' }],
        mcp: without(now, id),
        told: { type: 'mcp_disabled', data },
        notes: [],
      }
    case 'remove': {
      const { approvedHash: _gone, ...rest } = next
      return {
        servers: [{ ...rest, confirmed: [], state: 'removed' }],
        mcp: without(now, id),
        told: { type: 'mcp_removed', data },
        notes: [],
      }
    }
  }
}

const without = (now: Generation, id: string): readonly McpPin[] =>
  withoutPin(pinsOf(now, 'mcp'), id)

const withRow = (now: Generation, row: McpServerRow): readonly McpPin[] => {
  const [pin] = toPin(row)
  return pin ? withPin(pinsOf(now, 'mcp'), pin) : without(now, row.id)
}

function toPin({
  id,
  config,
  approvedHash,
  confirmed,
  epoch,
  state,
  addedAtMs,
}: McpServerRow): readonly McpPin[] {
  return approvedHash === undefined || state !== 'enabled'
    ? []
    : [{ id, config, hash: approvedHash, confirmed, epoch, addedAtMs }]
}
