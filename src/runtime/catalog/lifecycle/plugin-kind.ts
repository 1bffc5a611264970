import { pinsOf, type Generation, type PluginPin } from '../types/generation.ts'
import type { PartOutcome, RestoredPart, DecidingPart, PartKindEntry } from '../types/part-kind.ts'
import type {
  PluginStore,
  PluginRow,
  KeptPluginVersion,
  PluginChange,
  PluginQuota,
  BundleStore,
  ChangeFacts,
} from '../types/plugin-catalog.ts'
import { parseManifest } from '../types/permit.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { withData } from '#contracts/event.ts'
import type { Clock } from '#contracts/sources.ts'
import { checkPluginId } from './names.ts'
import { add, stillWaiting, withWaiting, type AddOptions } from './add.ts'
import {
  changed,
  disable,
  enable,
  free,
  grant,
  installed,
  present,
  remove,
  revoke,
} from './allow.ts'
import { idOf, noVersion, type PluginOutcome, type Situation } from './changes.ts'
import type { Prove } from './prove.ts'
import { checkQuota } from './quota.ts'
import { restorePlugins, restoreSwitches, rollback } from './restore.ts'

interface SignedDeps {
  readonly store: Pick<PluginStore, 'list' | 'versions'>
  /** Names of the keys that are accepted now. */
  readonly signers: () => Promise<readonly string[]>
}

/** The same with nothing in it that a removed key had signed: such a plugin is a stranger's, and goes on as one. */
async function asSigned<T extends Pick<PartOutcome, 'rows' | 'pins'>>(
  { store, signers }: SignedDeps,
  outcome: T,
): Promise<T> {
  const { rows = [], pins } = outcome
  const trusted = rows.filter(({ tier }) => tier === 'trusted')
  if (trusted.length === 0) return outcome
  const [accepted, versions] = await Promise.all([
    signers(),
    store.versions(trusted.map(({ id }) => id)),
  ])
  const isSigned = (row: { readonly id: string; readonly hash: string }) =>
    versions.some(
      ({ id, hash, signer = '' }) =>
        id === row.id && hash === row.hash && accepted.includes(signer),
    )
  const lowered = new Set(trusted.filter((row) => !isSigned(row)).map(({ id }) => id))
  const lower = <R extends { readonly id: string }>(one: R) =>
    lowered.has(one.id) ? { ...one, tier: 'community' as const } : one
  return {
    ...outcome,
    rows: rows.map(lower),
    ...(pins?.plugin && { pins: { ...pins, plugin: pins.plugin.map(lower) } }),
  }
}

/** Lowers disabled plugins too: otherwise enabling them would restore their trust tier. */
async function lowerPlugins(deps: SignedDeps, now: Generation): Promise<RestoredPart | undefined> {
  const before = (await deps.store.list()).filter(({ tier }) => tier === 'trusted')
  const plugin = pinsOf(now, 'plugin')
  const { rows, pins } = await asSigned(deps, { rows: before, pins: { plugin } })
  const lowered = rows.filter(({ tier }) => tier !== 'trusted')
  if (lowered.length === 0) return undefined
  return { rows: lowered, pins, told: { plugins: lowered.map(({ id }) => id) }, notes: [] }
}

/** Notes for the operator before a plugin is removed: the enabled plugins that depend on it, or call its tools. */
function dependentsOf(id: string, rows: readonly PluginRow[]): readonly string[] {
  const wanting = rows
    .filter((row) => row.id !== id && row.state === 'enabled' && wants(row.manifest, id))
    .map((row) => `"${row.id}"`)
  return wanting.length === 0 ? [] : [`${wanting.join(', ')} depended on it or called its tools.`]
}

function wants(manifest: unknown, id: string): boolean {
  try {
    const { depends_on: needed, uses_tools: used, agent } = parseManifest(manifest)
    const tools = [...used, ...(agent?.uses_tools ?? [])]
    return needed.includes(id) || tools.some((name) => name === id || name.startsWith(`${id}__`))
  } catch {
    return false
  }
}

/** The ports for changes of plugins. */
export interface PluginKindDeps {
  readonly store: PluginStore
  readonly bundles: Pick<BundleStore, 'save' | 'checked' | 'copy'>
  readonly clock: Clock
  readonly quota: PluginQuota
  /** Ids of the plugins that ship with the deployment. */
  readonly bundledIds: () => ReadonlySet<string>
  /** Names of the keys that are accepted now. */
  readonly signers: () => Promise<readonly string[]>
  readonly proven: Prove
}

/**
 * The kind of installed plugins. Changes of a plugin of the deployment, which can only be switched on and off, have the
 * same names.
 */
export const pluginKind = (deps: PluginKindDeps): PartKindEntry<'plugin'> => ({
  kind: 'plugin',
  claims: (change) => (startsOne.has(change.do) ? (idOf(change) ?? '') : undefined),
  refuse(id, { row }) {
    if (row === undefined || row.state === 'removed' || row.tier === 'builtin') return
    const message =
      `id: "${id}" is that of a plugin (${row.state}), which it would displace. Choose another id, or ` +
      `take the plugin away: isola plugin remove ${id}`
    throw new IsolaError('request_conflict', message, { param: 'id' })
  },
  decide: (change, now) => (isOfPlugin(change) ? decidePlugin(deps, change, now) : undefined),
  restore: async (going) => asSigned(deps, await restorePlugins(deps.store, going)),
  lower: (now) => lowerPlugins(deps, now),
  prove: deps.proven,
  sources: ({ hash }) => [hash],
  epoch: ({ grantEpoch }) => grantEpoch,
  // Hooks and agents have to be wired before the first call.
  wire: (pin) => (isAlways(pin) || pin.permit.agent ? 'always' : 'by name'),
})

/** The plugin has hooks, or takes the place of a built-in part. */
const isAlways = ({ permit: { hooks, providers } }: PluginPin): boolean =>
  hooks.length > 0 || providers !== undefined

/** Which plugins of the deployment are not as their manifests say. */
export const bundledKind = ({
  store,
}: Pick<PluginKindDeps, 'store'>): PartKindEntry<'bundled'> => ({
  kind: 'bundled',
  decide: () => undefined,
  restore: (going) => restoreSwitches(store, going),
  sources: () => [],
  epoch: () => 0,
  wire: () => 'always',
})

const ofOthers = ['policy', 'network', 'mcp', 'skill', 'expose', 'restore', 'distrust'] as const
type OfPlugin = Exclude<PluginChange, { readonly do: (typeof ofOthers)[number] }>
const isOfPlugin = (change: PluginChange): change is OfPlugin =>
  !ofOthers.some((one) => one === change.do)

async function decidePlugin(
  deps: PluginKindDeps,
  change: OfPlugin,
  { generation, inForce, facts, by }: DecidingPart,
): Promise<PluginOutcome> {
  const { store, bundledIds, proven } = deps
  const situation: Situation = { row: facts.row, generation, inForce, by }
  switch (change.do) {
    case 'add':
      checkPluginId(change.plugin.id, bundledIds())
      return arrive(await bring(deps, change, { situation, facts }), { situation, proven })
    case 'accept':
      return accept(deps, change, { situation, facts, proven })
    case 'grant':
      return change.hash === facts.row?.hash
        ? grant(change, situation)
        : grantWaiting(deps, change, { situation, facts, proven })
    case 'revoke':
      return revoke(situation)
    case 'enable':
      return proven(enable(change, situation), situation).catch((error: unknown) =>
        cannotStart(deps, situation, error),
      )
    case 'disable':
      return withDependents(deps, disable(situation))
    case 'rollback':
      return proven(await asSigned(deps, await rollback(store, situation)), situation)
    case 'free':
      return free(change.id, situation)
    case 'remove':
      return withDependents(deps, {
        ...remove(situation),
        removed: { kind: 'plugin', id: change.id },
      })
  }
}

/**
 * Stores the bundle once the change is not refused any more: together with the change, or before it if the code is
 * tried out.
 */
async function bring(
  { bundles, clock, quota }: PluginKindDeps,
  change: Extract<PluginChange, { readonly do: 'add' }>,
  { situation, facts }: { readonly situation: Situation; readonly facts: ChangeFacts },
): Promise<PluginOutcome> {
  const { plugin, bundle } = change
  const { allowDowngrade = false, replace = false, takeOver = false, now = false } = change
  const { row, by } = situation
  const { numbers, usage } = facts
  const sizeBytes = new TextEncoder().encode(bundle).byteLength
  const options = { allowDowngrade, replace, takeOver, now, numbers, ...whoseIs(row, numbers) }
  const outcome = add({ ...plugin, sizeBytes }, situation, options)
  const isKept = facts.version !== undefined
  const nowMs = clock.nowMs()
  checkQuota(quota, usage, { sizeBytes, isKept, isOperator: by.mayEnable, nowMs })
  if (!outcome.pins) return { ...outcome, bundle: bundles.checked(plugin.hash, bundle) }
  await bundles.save(plugin.hash, bundle)
  return outcome
}

/** The owner of an id, and the signer of its present or last version, even if that version's bundle was collected. */
function whoseIs(row: PluginRow | undefined, numbers: AddOptions['numbers']) {
  const last = numbers.find(({ hash }) => hash === row?.hash)
  return { owner: row?.owner, signer: last?.signer }
}

/** Changes after which a plugin may run. */
const startsOne: ReadonlySet<PluginChange['do']> = new Set(['add', 'accept', 'enable', 'rollback'])

async function withDependents(
  { store }: PluginKindDeps,
  outcome: PluginOutcome,
): Promise<PluginOutcome> {
  const id = outcome.rows[0]?.id ?? ''
  return { ...outcome, notes: [...outcome.notes, ...dependentsOf(id, await store.mentioning(id))] }
}

interface Arriving extends Pick<PluginKindDeps, 'proven'> {
  readonly situation: Situation
}

/** Adds the version as if the operator had sent it. A version that requests more waits until that is granted. */
async function accept(
  { signers }: PluginKindDeps,
  { id }: { readonly id: string },
  { facts, ...arriving }: Arriving & { readonly facts: ChangeFacts },
): Promise<PluginOutcome> {
  const { situation } = arriving
  const { version, numbers } = facts
  installed(situation)
  if (!version) throw noVersion(id)
  const outcome = add(await asNow({ signers }, version), situation, {
    allowDowngrade: true,
    replace: true,
    takeOver: false,
    now: false,
    numbers: [],
    ...whoseIs(situation.row, numbers),
  })
  const { version: _known, ...rest } = outcome
  return arrive({ ...rest, told: withData(outcome.told, { accepted: true }) }, arriving)
}

/** A removed key's signature no longer counts. */
async function asNow({ signers }: Pick<PluginKindDeps, 'signers'>, version: KeptPluginVersion) {
  const isSigned = (await signers()).some((name) => name === version.signer)
  return { ...version, tier: isSigned ? version.tier : ('community' as const) }
}

/** Takes a waiting version into use with the permit that it requests, if its code starts. */
async function grantWaiting(
  deps: Pick<PluginKindDeps, 'signers'>,
  change: Extract<PluginChange, { readonly do: 'grant' }>,
  { situation, facts, proven }: Arriving & { readonly facts: ChangeFacts },
): Promise<PluginOutcome> {
  const row = installed(situation)
  const { hash } = change
  if (!facts.version || !row.waiting?.includes(hash)) throw changed('hash', row)
  const { version, tier, manifest } = await asNow(deps, facts.version)
  const { problem: _solved, permit: _old, permitHash: _its, waiting: _were, ...rest } = row
  const arrived: PluginRow = {
    ...rest,
    version,
    hash,
    tier,
    manifest,
    ...stillWaiting(row, hash),
  }
  return proven(grant(change, { ...situation, row: arrived }), situation)
}

const arrive = (outcome: PluginOutcome, { situation, proven }: Arriving): Promise<PluginOutcome> =>
  proven(outcome, situation).catch((error: unknown) => stays(outcome, situation, error))

/** A new version that does not start leaves the one before in its place. */
function stays(outcome: PluginOutcome, { row }: Situation, error: unknown): PluginOutcome {
  if (!errorCode(error)?.startsWith('plugin_')) throw error
  const why = `It does not start, so version ${row?.version} goes on: ${errorMessage(error)}`
  const { pins: _notYet, ...rest } = outcome
  const hash = outcome.version?.hash ?? outcome.rows[0]?.hash
  const rows = row && hash !== undefined ? [withWaiting(row, hash)] : []
  return { ...rest, rows, notes: [...outcome.notes, why] }
}

/** The plugin stays off, and the list shows the reason. */
async function cannotStart(
  { store, clock }: PluginKindDeps,
  situation: Situation,
  error: unknown,
): Promise<never> {
  const code = errorCode(error)
  // An enabled plugin keeps its version: only the version that was asked for failed to start.
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
