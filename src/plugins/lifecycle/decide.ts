import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { withData } from '#contracts/event.ts'
import type { McpChange } from '#contracts/mcp.ts'
import type { McpDecisions } from '#contracts/mcp-administration.ts'
import type {
  ChangeBy,
  Generation,
  PluginChange,
  PluginRow,
  PluginStore,
} from '#contracts/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { checkPluginId } from '../install/plugin-names.ts'
import { add } from './add.ts'
import { disable, enable, free, grant, installed, present, remove, revoke } from './allow.ts'
import { idOf, type Outcome, type Situation } from './changes.ts'
import { dependentsOf } from './dependents.ts'
import { generationOf, restore, rollback } from './restore.ts'
import { changeServers, withServers } from './servers.ts'
import { setExposure, withoutExposed } from './set-exposure.ts'
import { setNetwork } from './set-network.ts'
import { setPolicy } from './set-policy.ts'

/** What a change is decided from besides the generation that is there. */
export interface DecideDeps {
  readonly store: PluginStore
  readonly clock: Clock
  /** Ids of the plugins that ship with the deployment. */
  readonly bundledIds: () => ReadonlySet<string>
  /** Names of the keys whose signatures count now. */
  readonly signers: () => Promise<readonly string[]>
  /** Decides changes of remote MCP servers; none are possible if absent. */
  readonly servers?: McpDecisions
}

/** The generation before a change, who asks for it, and how what is new is tried out. */
export interface Deciding {
  readonly before: Generation
  readonly by: ChangeBy
  readonly proven: (outcome: Outcome, before: Generation) => Promise<Outcome>
}

/** What a change comes to. Throws what is refused. */
export async function decide(
  deps: DecideDeps,
  change: PluginChange,
  { before: generation, by, proven }: Deciding,
): Promise<Outcome> {
  const { store, bundledIds, servers } = deps
  if (change.do === 'policy') return setPolicy(change.policy, generation)
  if (change.do === 'network') return setNetwork(change, generation)
  if (change.do === 'expose') return setExposure(change.exposed, generation)
  if (change.do === 'mcp') {
    await refusePluginsId(store, change.mcp)
    const outcome = await changeServers(servers, change.mcp, { generation, by })
    return change.mcp.do === 'remove' ? withoutExposed(outcome, change.mcp.id, generation) : outcome
  }
  if (change.do === 'restore') {
    const target = await generationOf(store, change.generation)
    const plugins = await restore(store, { ...change, target }, generation)
    return proven(await withServers(servers, target, plugins), generation)
  }
  const row = await store.find(idOf(change) ?? '')
  const situation: Situation = { row, generation, by }
  if (startsOne.has(change.do)) await refuseServersId(servers, idOf(change) ?? '')
  switch (change.do) {
    case 'add': {
      checkPluginId(change.plugin.id, bundledIds())
      const { id, version } = change.plugin
      const { allowDowngrade = false, replace = false, takeOver = false } = change
      const options = {
        allowDowngrade,
        replace,
        takeOver,
        versions: await store.versions(id),
        sameNumber: await store.numbered(id, version),
        ...(await whoseIs(store, id, row)),
      }
      return arrive(add(change.plugin, situation, options), { situation, proven })
    }
    case 'accept':
      return accept(deps, change, { situation, proven })
    case 'grant':
      return grant(change, situation)
    case 'revoke':
      return revoke(situation)
    case 'enable':
      return proven(enable(change, situation), generation).catch((error: unknown) =>
        cannotStart(deps, situation, error),
      )
    case 'disable':
      return withDependents(deps, disable(situation))
    case 'rollback':
      return proven(await rollback(store, situation), generation)
    case 'free':
      return free(change.id, situation)
    case 'remove':
      return withDependents(deps, withoutExposed(remove(situation), change.id, generation))
  }
}

/** Whose an id is. Of one that shipped with the deployment and does not any more it is no principal's. */
async function whoseIs(store: PluginStore, id: string, row: PluginRow | undefined) {
  const oldest = row?.tier === 'builtin' ? undefined : await store.firstBy(id)
  const last = row && (await store.version(id, row.hash))
  return { owner: row?.owner ?? oldest, signer: last?.signer }
}

/** Changes after which a plugin may run. */
const startsOne: ReadonlySet<PluginChange['do']> = new Set(['add', 'accept', 'enable', 'rollback'])

async function refuseServersId(servers: McpDecisions | undefined, id: string): Promise<void> {
  if (!(await servers?.has(id))) return
  const message = `id: "${id}" is that of a remote MCP server, which it would displace. Choose another id in plugin.yaml, or take the server away: isola mcp remove ${id}`
  throw new IsolaError('request_conflict', message, { param: 'id' })
}

async function refusePluginsId(store: PluginStore, change: McpChange): Promise<void> {
  if (change.do !== 'add' && change.do !== 'enable') return
  const id = change.do === 'add' ? change.config.id : change.id
  const row = await store.find(id)
  if (row === undefined || row.state === 'removed' || row.tier === 'builtin') return
  const message = `id: "${id}" is that of a plugin (${row.state}), which it would displace. Choose another id, or take the plugin away: isola plugin remove ${id}`
  throw new IsolaError('request_conflict', message, { param: 'id' })
}

async function withDependents({ store }: DecideDeps, outcome: Outcome): Promise<Outcome> {
  const id = outcome.rows[0]?.id ?? ''
  return { ...outcome, notes: [...outcome.notes, ...dependentsOf(id, await store.list())] }
}

interface Arriving extends Pick<Deciding, 'proven'> {
  readonly situation: Situation
}

/** As if the operator had added it: one that asks for more is switched off until that is granted. */
async function accept(
  { store, signers }: DecideDeps,
  { id, hash }: { readonly id: string; readonly hash: string },
  arriving: Arriving,
): Promise<Outcome> {
  const { situation } = arriving
  installed(situation)
  const version = await store.version(id, hash)
  if (!version)
    throw new IsolaError('request_not_found', `hash: no version of "${id}" has it.`, {
      param: 'hash',
    })
  // A key that was removed since signs nothing any more.
  const isSigned = (await signers()).some((name) => name === version.signer)
  const tier = isSigned ? version.tier : 'community'
  const now = { ...version, tier } as const
  const outcome = add(now, situation, {
    allowDowngrade: true,
    replace: true,
    takeOver: false,
    versions: [],
    sameNumber: [],
    ...(await whoseIs(store, id, situation.row)),
  })
  const { version: _known, ...rest } = outcome
  return arrive({ ...rest, told: withData(outcome.told, { accepted: true }) }, arriving)
}

const arrive = (outcome: Outcome, { situation, proven }: Arriving): Promise<Outcome> =>
  proven(outcome, situation.generation).catch((error: unknown) => stays(outcome, situation, error))

/** A new version that does not start leaves the one before in its place. */
function stays(outcome: Outcome, { row }: Situation, error: unknown): Outcome {
  if (!errorCode(error)?.startsWith('plugin_')) throw error
  const why = `It does not start, so version ${row?.version} goes on: ${errorMessage(error)}`
  const { generation: _notYet, ...rest } = outcome
  return { ...rest, rows: [], notes: [...outcome.notes, why] }
}

/** It stays off, and the reason is in the list. */
async function cannotStart(
  { store, clock }: DecideDeps,
  situation: Situation,
  error: unknown,
): Promise<never> {
  const code = errorCode(error)
  // One that runs goes on as it is: only what was asked for now does not start.
  if (code?.startsWith('plugin_') && situation.row?.state !== 'enabled') {
    const row = present(situation)
    const problem = { code, message: errorMessage(error) }
    const { principal, trace } = situation.by
    await store.commit({
      rows: [{ ...row, problem }],
      event: {
        type: 'plugin_tripped',
        principal,
        trace,
        atMs: clock.nowMs(),
        data: { plugin: row.id, hash: row.hash, ...problem },
      },
    })
  }
  throw error
}
