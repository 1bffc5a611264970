import { IsolaError } from '#contracts/errors.ts'
import { pinsOf, type Generation, type PinOfKind, type PluginPin } from '../types/generation.ts'
import type { RestoredPart, RestoringPart } from '../types/part-kind.ts'
import { widened } from '../types/permit.ts'
import type { PluginRow, PluginStore } from '../types/plugin-catalog.ts'
import { installed } from './allow.ts'
import { toPin, withRow, type PluginOutcome, type Situation } from './changes.ts'

/** Goes back to the version that was enabled before the present one, with the permit of then. */
export async function rollback(store: PluginStore, situation: Situation): Promise<PluginOutcome> {
  const row = installed(situation)
  const pin = await findEarlier(store, row)
  if (!pin) {
    const message =
      `"${row.id}" was never enabled in another version, or what it was allowed was taken back since: ` +
      'add that version and grant it.'
    throw new IsolaError('request_conflict', message)
  }
  const manifestOf = await manifestsOf(store, [[row, pin]])
  const back = toRow(pin, row, manifestOf(pin, row))
  return {
    rows: [back],
    pins: withRow(situation.generation, back),
    told: {
      type: 'plugin_rolled_back',
      data: { plugin: row.id, version: pin.version, hash: pin.hash, from: row.hash },
    },
    notes: [
      `Version ${pin.version} is enabled again, with what it was allowed then.`,
      ...regained([[row, pin]]),
    ],
  }
}

/**
 * Manifests of the pins that come back, by id. The present versions are not read again.
 *
 * @throws `request_conflict` if a manifest was collected since.
 */
async function manifestsOf(
  store: PluginStore,
  pairs: readonly (readonly [PluginRow, PluginPin])[],
): Promise<(pin: PluginPin, row: PluginRow) => unknown> {
  const isThere = (pin: PluginPin, row: PluginRow) =>
    row.hash === pin.hash && row.state !== 'removed'
  const others = pairs.filter(([row, pin]) => !isThere(pin, row)).map(([, pin]) => pin)
  const kept = await store.manifests(others)
  const lost = others.find(({ id }) => !kept.has(id))
  if (lost) throw notKept(lost)
  return (pin, row) => (isThere(pin, row) ? row.manifest : kept.get(pin.id))
}

function notKept({ id, version }: PluginPin): IsolaError {
  const message =
    `Version ${version} of "${id}" is not kept any more, since it was not in force for so long ` +
    '(ISOLA_KEEP_VERSIONS_DAYS). Add it again: isola plugin add <folder> --allow-downgrade'
  return new IsolaError('request_conflict', message)
}

/** The pin that a rollback restores: never the present version, and no pin from before a revocation. */
export async function findEarlier(
  store: PluginStore,
  { id, hash }: PluginRow,
): Promise<PluginPin | undefined> {
  const after = revocationOf(await revocations(store), id)
  return store.earlier({ id, hash, after })
}

/** The last generation in which the permit of a plugin was revoked; 0 if there is none. */
function revocationOf(taken: ReadonlyMap<string, number>, id: string): number {
  const last = (kind: string) => taken.get(`${kind} ${id}`) ?? 0
  return Math.max(...revoking.map(last))
}

const revoking = ['plugin_revoked', 'plugin_removed']
const revocations = (store: PluginStore) => store.newest(revoking)

/** @throws `request_not_found` */
export async function generationOf(
  store: Pick<PluginStore, 'generation'>,
  number: number,
): Promise<Generation> {
  const then = await store.generation(number)
  if (then?.number === number) return then
  throw new IsolaError('request_not_found', 'There is no such generation.')
}

/**
 * Restores the plugins that were enabled in an earlier generation, and disables all others. A plugin whose permit was
 * revoked since stays off.
 */
export async function restorePlugins(
  store: PluginStore,
  { target }: RestoringPart,
): Promise<RestoredPart> {
  const [rows, taken] = await Promise.all([store.list(), revocations(store)])
  const pins = new Map(pinsOf(target, 'plugin').map((pin) => [pin.id, pin]))
  const isTaken = ({ id }: PluginRow) => revocationOf(taken, id) > target.number
  const installedRows = rows.filter(({ tier }) => tier !== 'builtin')
  const pinBack = (row: PluginRow) => (isTaken(row) ? undefined : pins.get(row.id))
  const pairs = installedRows.flatMap((row): readonly (readonly [PluginRow, PluginPin])[] => {
    const pin = pinBack(row)
    return pin ? [[row, pin]] : []
  })
  const notes = installedRows
    .filter((row) => pins.has(row.id) && isTaken(row))
    .map(({ id }) => `"${id}" stays off: what it was allowed was taken back since.`)
  const manifestOf = await manifestsOf(store, pairs)
  const back = installedRows.flatMap((row): readonly PluginRow[] => {
    const pin = pinBack(row)
    if (pin) return [toRow(pin, row, manifestOf(pin, row))]
    return row.state === 'enabled'
      ? [{ ...row, state: 'disabled', grantEpoch: row.grantEpoch + 1 }]
      : []
  })
  const regainedNow = regained(pairs)
  return {
    rows: back,
    pins: {
      plugin: back
        .filter(({ state }) => state === 'enabled')
        .flatMap((row) => toPin(row, pins.get(row.id)) ?? []),
    },
    ...(regainedNow.length > 0 && { told: { regained: regainedNow } }),
    notes: [...notes, ...regainedNow],
  }
}

/** Plugins of the deployment as they were then, or as their manifest says. */
export async function restoreSwitches(
  store: PluginStore,
  { target, now }: RestoringPart,
): Promise<RestoredPart> {
  const [was, is] = [switchesOf(target), switchesOf(now)]
  const rows = (await store.list()).flatMap((row) => {
    if (row.tier !== 'builtin' || was.get(row.id) === is.get(row.id)) return []
    const isOn = Object(row.manifest).enabled !== false
    return [{ ...row, state: was.get(row.id) ?? (isOn ? 'enabled' : 'disabled') }]
  })
  return { rows, pins: { bundled: pinsOf(target, 'bundled') }, notes: [] }
}

const switchesOf = (of: Generation): ReadonlyMap<string, PinOfKind['bundled']['state']> =>
  new Map(pinsOf(of, 'bundled').map(({ id, state }) => [id, state]))

/**
 * Rights that a plugin lacks now and that going back grants again: the operator is told, so that no plugin regains them
 * unseen.
 */
const regained = (pairs: readonly (readonly [PluginRow, PluginPin])[]): readonly string[] =>
  pairs.flatMap(([row, pin]) => {
    const lines = widened(pin.permit, row.permit).map(({ text }) => text)
    const isBack = row.state === 'removed' ? ' (it had been removed)' : ''
    return lines.length === 0 && isBack === ''
      ? []
      : [`"${row.id}" may again${isBack}: ${lines.join('; ') || 'run'}.`]
  })

function toRow(pin: PluginPin, row: PluginRow, manifest: unknown): PluginRow {
  const { problem: _solved, waiting: _over, toldHash: _other, ...rest } = row
  const { hash, version, tier, permit, config, isTold } = pin
  return {
    ...rest,
    hash,
    version,
    tier,
    permit,
    permitHash: hash,
    config,
    manifest,
    state: 'enabled',
    grantEpoch: row.grantEpoch + 1,
    ...(isTold && { toldHash: hash }),
  }
}
