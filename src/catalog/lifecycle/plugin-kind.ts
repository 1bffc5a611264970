import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { withData } from '#contracts/event.ts'
import type { DecidingPart, PartKindEntry } from '#contracts/part-kind.ts'
import type {
  BundleStore,
  PluginChange,
  PluginQuota,
  PluginRow,
  PluginStore,
} from '#contracts/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { checkPluginId } from './plugin-names.ts'
import { add, type AddOptions } from './add.ts'
import { disable, enable, free, grant, installed, present, remove, revoke } from './allow.ts'
import { idOf, type Outcome, type Situation } from './changes.ts'
import { dependentsOf } from './dependents.ts'
import type { Proof } from './prove.ts'
import { checkQuota, sinceFor } from './quota.ts'
import { restorePlugins, restoreSwitches, rollback } from './restore.ts'

/** What a change of plugins is decided from besides the generation that is there. */
export interface PluginKindDeps {
  readonly store: PluginStore
  readonly bundles: Pick<BundleStore, 'save'>
  readonly clock: Clock
  readonly quota: PluginQuota
  /** Ids of the plugins that ship with the deployment. */
  readonly bundledIds: () => ReadonlySet<string>
  /** Names of the keys whose signatures count now. */
  readonly signers: () => Promise<readonly string[]>
  readonly proven: Proof
}

/** Plugins that were installed. Those of the deployment, of which only on and off is kept, are changed with the same words. */
export const pluginKind = (deps: PluginKindDeps): PartKindEntry<'plugin'> => ({
  kind: 'plugin',
  claims: (change) => (startsOne.has(change.do) ? (idOf(change) ?? '') : undefined),
  async refuse(id) {
    const row = await deps.store.find(id)
    if (row === undefined || row.state === 'removed' || row.tier === 'builtin') return
    const message = `id: "${id}" is that of a plugin (${row.state}), which it would displace. Choose another id, or take the plugin away: isola plugin remove ${id}`
    throw new IsolaError('request_conflict', message, { param: 'id' })
  },
  decide: (change, now) => (isOfPlugin(change) ? decidePlugin(deps, change, now) : undefined),
  restore: (going) => restorePlugins(deps.store, going),
  prove: deps.proven,
  sources: ({ hash }) => [hash],
  epoch: ({ grantEpoch }) => grantEpoch,
  // What listens in, and what can be asked for by its name as an agent, is there before anything is called.
  wire: ({ permit }) => (permit.hooks.length > 0 || permit.agent ? 'always' : 'by name'),
})

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

const ofOthers = ['policy', 'network', 'mcp', 'expose', 'restore'] as const
type OfPlugin = Exclude<PluginChange, { readonly do: (typeof ofOthers)[number] }>
const isOfPlugin = (change: PluginChange): change is OfPlugin =>
  !ofOthers.some((one) => one === change.do)

async function decidePlugin(
  deps: PluginKindDeps,
  change: OfPlugin,
  { generation, by }: DecidingPart,
): Promise<Outcome> {
  const { store, bundledIds, proven } = deps
  const row = await store.find(idOf(change) ?? '')
  const situation: Situation = { row, generation, by }
  switch (change.do) {
    case 'add':
      checkPluginId(change.plugin.id, bundledIds())
      return arrive(await bring(deps, change, situation), { situation, proven })
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
      return withDependents(deps, { ...remove(situation), removed: change.id })
  }
}

/** Its bundle is stored when nothing refuses it any more, and before it is tried out. */
async function bring(
  { store, bundles, clock, quota }: PluginKindDeps,
  change: Extract<PluginChange, { readonly do: 'add' }>,
  situation: Situation,
): Promise<Outcome> {
  const { plugin, bundle, allowDowngrade = false, replace = false, takeOver = false } = change
  const { id, hash } = plugin
  const { row, by } = situation
  const sizeBytes = new TextEncoder().encode(bundle).byteLength
  const numbers = await store.numbers(id)
  const options = { allowDowngrade, replace, takeOver, numbers, ...whoseIs(row, numbers) }
  const outcome = add({ ...plugin, sizeBytes }, situation, options)
  const nowMs = clock.nowMs()
  const usage = await store.usage(by.principal, sinceFor(nowMs))
  const isKept = (await store.version(id, hash)) !== undefined
  checkQuota(quota, usage, { sizeBytes, isKept, isOperator: by.mayEnable, nowMs })
  await bundles.save(hash, bundle)
  return outcome
}

/** Whose an id is, and who signed what it has, or had last: also where that is not kept any more. */
function whoseIs(row: PluginRow | undefined, numbers: AddOptions['numbers']) {
  const last = numbers.find(({ hash }) => hash === row?.hash)
  return { owner: row?.owner, signer: last?.signer }
}

/** Changes after which a plugin may run. */
const startsOne: ReadonlySet<PluginChange['do']> = new Set(['add', 'accept', 'enable', 'rollback'])

async function withDependents({ store }: PluginKindDeps, outcome: Outcome): Promise<Outcome> {
  const id = outcome.rows[0]?.id ?? ''
  return { ...outcome, notes: [...outcome.notes, ...dependentsOf(id, await store.list())] }
}

interface Arriving extends Pick<PluginKindDeps, 'proven'> {
  readonly situation: Situation
}

/** As if the operator had added it: one that asks for more is switched off until that is granted. */
async function accept(
  { store, signers }: PluginKindDeps,
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
    numbers: [],
    ...whoseIs(situation.row, await store.numbers(id)),
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
  const { pins: _notYet, ...rest } = outcome
  return { ...rest, rows: [], notes: [...outcome.notes, why] }
}

/** It stays off, and the reason is in the list. */
async function cannotStart(
  { store, clock }: PluginKindDeps,
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
