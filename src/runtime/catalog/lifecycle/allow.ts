import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import { parseManifest, isSamePermit, permitLines, toPermit, type Permit } from '../types/permit.ts'
import type { PluginRow } from '../types/plugin-catalog.ts'
import { switched, withRow, without, type PluginOutcome, type Situation } from './changes.ts'

/**
 * Grants exactly the permit that was shown, for exactly the version that was shown. Its texts for models count as read
 * only if the operator says so (`texts`): a program that compares grants shows them to no person.
 */
export function grant(
  {
    hash,
    permit,
    texts,
  }: { readonly hash: string; readonly permit: Permit; readonly texts?: boolean | undefined },
  situation: Situation,
): PluginOutcome {
  const row = installed(situation)
  const asks = toPermit(parseManifest(row.manifest))
  if (hash !== row.hash) throw changed('hash', row)
  if (!isSamePermit(asks, permit)) throw changed('permit', row)
  const granted: PluginRow = {
    ...row,
    permit: asks,
    permitHash: hash,
    grantEpoch: row.grantEpoch + 1,
    ...(texts && { toldHash: hash }),
  }
  const data = { plugin: row.id, hash, lines: permitLines(asks).map(toText) }
  const pins = row.state === 'enabled' ? withRow(situation.generation, granted) : undefined
  return {
    rows: [granted],
    ...defined({ pins }),
    told: { type: 'plugin_granted', data },
    notes: [],
  }
}

const toText = ({ text, amount }: { readonly text: string; readonly amount?: number }): string =>
  amount === undefined ? text : `${text}: ${amount}`

/** Revokes the whole permit: all work of the plugin ends. */
export function revoke(situation: Situation): PluginOutcome {
  const { permit: _gone, permitHash: _too, ...row } = installed(situation)
  const state = row.state === 'enabled' ? 'disabled' : row.state
  return {
    rows: [{ ...row, state, grantEpoch: row.grantEpoch + 1 }],
    pins: without(situation.generation, row.id),
    told: { type: 'plugin_revoked', data: { plugin: row.id, hash: row.hash } },
    notes: [],
  }
}

/** @throws `request_conflict` naming what has to be granted first. */
export function enable(
  { config, hash }: { readonly config?: JsonObject; readonly hash?: string },
  situation: Situation,
): PluginOutcome {
  const { generation } = situation
  const row = present(situation)
  if (hash !== undefined && hash !== row.hash) throw changed('hash', row)
  const data = { plugin: row.id, version: row.version, hash: row.hash }
  const base = { told: { type: 'plugin_enabled', data } as const, notes: [] }
  const { problem: _solved, ...solved } = row
  const enabled: PluginRow = { ...solved, state: 'enabled', ...defined({ config }) }
  if (row.tier === 'builtin') {
    if (config) throw noConfig(row.id)
    if (row.state === 'enabled') return { ...base, ...already, rows: [enabled] }
    return { ...base, rows: [enabled], pins: switched(generation, row.id, 'enabled') }
  }
  const asks = toPermit(parseManifest(row.manifest))
  const needsGrant = permitLines(asks).length > 0
  if (needsGrant && (row.permitHash !== row.hash || !row.permit || !isSamePermit(asks, row.permit)))
    throw notGranted(row)
  const granted: PluginRow = { ...enabled, permit: asks, permitHash: row.hash }
  if (row.state === 'enabled' && !config) return { ...base, ...already, rows: [granted] }
  return { ...base, rows: [granted], pins: withRow(generation, granted) }
}

const already = { notes: ['It is enabled already.'] }

/** Switches the plugin off for the next run, and ends all its work. */
export function disable(
  situation: Situation,
  trip?: { readonly code: string; readonly message: string },
): PluginOutcome {
  const { generation } = situation
  const row = present(situation)
  const { problem: _before, ...rest } = row
  const state = row.state === 'installed' ? 'installed' : 'disabled'
  const off: PluginRow = {
    ...rest,
    state,
    grantEpoch: row.grantEpoch + 1,
    ...defined({ problem: trip }),
  }
  const next =
    row.tier === 'builtin' ? switched(generation, row.id, 'disabled') : without(generation, row.id)
  const data = { plugin: row.id, version: row.version, hash: row.hash }
  const told = trip
    ? ({ type: 'plugin_tripped', data: { ...data, ...trip } } as const)
    : ({ type: 'plugin_disabled', data } as const)
  return { rows: [off], pins: next, told, notes: [] }
}

/** Gone from the list; its versions stay, so that the record can say what ran. */
export function remove(situation: Situation): PluginOutcome {
  const {
    permit: _gone,
    permitHash: _too,
    problem: _this,
    waiting: _none,
    ...row
  } = installed(situation)
  return {
    rows: [{ ...row, state: 'removed', grantEpoch: row.grantEpoch + 1 }],
    pins: without(situation.generation, row.id),
    told: { type: 'plugin_removed', data: { plugin: row.id, hash: row.hash } },
    notes: [],
  }
}

/** Its stored values are deleted: the next plugin under this id finds none of them. */
export function free(id: string, { row }: Situation): PluginOutcome {
  if (!row) throw notThere()
  const isGone = row.state === 'removed'
  return {
    rows: isGone ? [{ ...row, owner: '' }] : [],
    told: { type: 'plugin_removed', data: { plugin: id, purged: isGone } },
    notes: [],
  }
}

/** The row of a present plugin; throws `request_not_found`. */
export function present({ row }: Situation): PluginRow {
  if (row && row.state !== 'removed') return row
  throw notThere()
}

const notThere = () => new IsolaError('request_not_found', 'There is no such plugin.')

/** The row of an installed plugin; throws `request_conflict` for a plugin of the deployment. */
export function installed(situation: Situation): PluginRow {
  const row = present(situation)
  if (row.tier !== 'builtin') return row
  const message = `id: "${row.id}" ships with the deployment; it can be enabled and disabled only.`
  throw new IsolaError('request_conflict', message, { param: 'id' })
}

export function changed(param: string, { id }: PluginRow): IsolaError {
  const message =
    `${param}: is not what "${id}" asks for now. Look again (isola plugin show ${id}) and grant ` +
    'what you see.'
  return new IsolaError('request_conflict', message, { param })
}

function notGranted({ id }: PluginRow): IsolaError {
  const message = `"${id}" asks for what nobody has allowed for this version: isola plugin grant ${id}`
  return new IsolaError('request_conflict', message)
}

function noConfig(id: string): IsolaError {
  const message = `config: "${id}" ships with the deployment; its config is in its folder.`
  return new IsolaError('request_invalid', message, { param: 'config' })
}
