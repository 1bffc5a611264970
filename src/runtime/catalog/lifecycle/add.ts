import { IsolaError } from '#contracts/errors.ts'
import { parseManifest, toPermit, widened } from '../types/permit.ts'
import { isToldSame } from '../types/plugin-upload.ts'
import type { KeptPluginVersion, NewPluginVersion, PluginRow } from '../types/plugin-catalog.ts'
import { notYours, withRow, without, type PluginOutcome, type Situation } from './changes.ts'
import { builtinCollision } from './names.ts'

/** An operator's exceptions for an upload that would otherwise be refused. */
export interface AddOptions {
  readonly allowDowngrade: boolean
  /** Whether a version number may name another content from now on. */
  readonly replace: boolean
  readonly takeOver: boolean
  /** The version replaces the one in use even if it requests more. The plugin is then off until that is granted. */
  readonly now: boolean
  /** The contents that the version numbers of this id ever named. A suggested number avoids all of them. */
  readonly numbers: readonly Pick<NewPluginVersion, 'version' | 'hash' | 'signer'>[]
  /** The owner of the id; empty if it has none. */
  readonly owner: string | undefined
  /** The signer of the present version, or of the last one. */
  readonly signer: string | undefined
}

const rank = { community: 0, trusted: 1, builtin: 2 } as const

/**
 * Adds a version. Adding enables nothing. An enabled plugin changes to the new version only if an operator adds it and
 * its manifest requests no more than was granted. A version that requests more, or has a lower trust tier, waits beside
 * the version in use (Y23).
 */
export function add(
  plugin: KeptPluginVersion,
  { row, generation, by }: Situation,
  { allowDowngrade, replace, takeOver, now, numbers, owner, signer }: AddOptions,
): PluginOutcome {
  const { id, hash, version, tier } = plugin
  const before = row?.state === 'removed' ? undefined : row
  if (before?.tier === 'builtin') throw builtinCollision(id)
  if (before && !(allowDowngrade && by.mayEnable)) refuseDowngrade(plugin, before)
  if (before && !by.mayEnable && owner !== by.principal) throw notYours('id', id)
  const isOwner = owner === by.principal && (signer === undefined || signer === plugin.signer)
  const isTaken = row !== undefined && !before && owner !== '' && !isOwner
  if (isTaken && !(takeOver && by.mayEnable)) throw kept(id)
  if (!replace) refuseOtherContent(plugin, numbers)
  const data = { plugin: id, version, hash, tier, source: plugin.source }
  const told = { type: 'plugin_added', data } as const
  const base = { version: plugin, told }
  if (before?.hash === hash && before.tier === tier)
    return { ...base, rows: [], notes: ['This version is installed already.'] }
  const arrived: PluginRow = {
    id,
    hash,
    version,
    tier,
    manifest: plugin.manifest,
    state: 'installed',
    grantEpoch: (row?.grantEpoch ?? 0) + (before ? 0 : 1),
    config: before?.config ?? {},
    owner: (before && owner) ?? by.principal,
    ...(before && stillWaiting(before, hash)),
    ...(before?.permit && { permit: before.permit }),
    ...(before?.permitHash !== undefined && { permitHash: before.permitHash }),
    ...(isTold(plugin, before) && { toldHash: hash }),
  }
  if (!before) return { ...base, rows: [arrived], notes: isTaken ? [takenOver] : [] }
  const notes = before.version === version ? [`Version ${version} was another content before.`] : []
  if (before.state !== 'enabled') {
    const state = before.state === 'installed' ? 'installed' : 'disabled'
    return { ...base, rows: [{ ...arrived, state }], notes }
  }
  if (!by.mayEnable) {
    const wait = `It is kept, and version ${before.version} goes on until an operator adds this one.`
    return { ...base, rows: [withWaiting(before, hash)], notes: [...notes, wait] }
  }
  const more = widened(toPermit(parseManifest(plugin.manifest)), before.permit)
  if (more.length === 0 && rank[tier] >= rank[before.tier]) {
    // The permit shrinks to the requests of the new version.
    const permit = toPermit(parseManifest(plugin.manifest))
    const carried: PluginRow = { ...arrived, state: 'enabled', permit, permitHash: hash }
    return { ...base, rows: [carried], pins: withRow(generation, carried), notes }
  }
  const asked = more.map(({ text }) => text).join('; ')
  const why =
    more.length > 0 ? 'asks for more than was allowed' : 'is trusted less than the version before'
  const because = (what: string) => `It ${why}, so it ${what}${asked && `: ${asked}`}.`
  if (!now) {
    const wait = `Version ${before.version} goes on: isola plugin grant ${id}`
    return { ...base, rows: [withWaiting(before, hash)], notes: [...notes, because('waits'), wait] }
  }
  return {
    ...base,
    rows: [{ ...arrived, state: 'disabled', grantEpoch: arrived.grantEpoch + 1 }],
    pins: without(generation, id),
    notes: [...notes, because('is disabled')],
  }
}

/** Newest first. */
export const withWaiting = (row: PluginRow, hash: string): PluginRow => ({
  ...row,
  waiting: [hash, ...(row.waiting ?? []).filter((one) => one !== hash)].slice(0, maxWaiting),
})
const maxWaiting = 100

/** The waiting versions that arrived after this one, which is in use from now on. */
export function stillWaiting(
  { waiting = [] }: PluginRow,
  hash: string,
): Pick<PluginRow, 'waiting'> {
  const at = waiting.indexOf(hash)
  const left = at < 0 ? [] : waiting.slice(0, at)
  return left.length > 0 ? { waiting: left } : {}
}

/** Whether an operator has read its texts for models, with the version before. */
function isTold({ manifest }: NewPluginVersion, before: PluginRow | undefined): boolean {
  return (
    before !== undefined &&
    before.toldHash === before.hash &&
    isToldSame(parseManifest(manifest), parseManifest(before.manifest))
  )
}

const takenOver = 'It has what the plugin before it kept under this id.'

/** The stored values of a removed plugin belong to the principal that brought it. */
function kept(id: string): IsolaError {
  const message =
    `id: "${id}" was somebody else's, and what it kept is still there. Choose another id in plugin.yaml; ` +
    `or an operator takes that away (isola plugin remove ${id} --purge), or adds this one with it ` +
    '(--take-over, takeOver: true).'
  return new IsolaError('request_conflict', message, { param: 'id' })
}

/** A version number names one content for ever, also after a removal: an operator reviewed that content. */
function refuseOtherContent(
  { id, version, hash }: NewPluginVersion,
  numbers: AddOptions['numbers'],
): void {
  const sameNumber = numbers.filter((one) => one.version === version)
  if (sameNumber.length === 0 || sameNumber.some((one) => one.hash === hash)) return
  const taken = new Set(numbers.map((one) => one.version))
  throw new IsolaError(
    'request_conflict',
    `version: ${version} of "${id}" was installed with another content. Set version in plugin.yaml to ` +
      `${nextFree(version, taken)}, or add it with --replace (replace: true) if ${version} is to mean this ` +
      'from now on.',
    { param: 'version' },
  )
}

/** The next patch that no version has. */
function nextFree(version: string, taken: ReadonlySet<string>): string {
  const [major = '0', minor = '0', patch = '0'] = version.split(/[-+]/)[0]?.split('.') ?? []
  let next = Number(patch) + 1
  while (taken.has(`${major}.${minor}.${next}`)) next++
  return `${major}.${minor}.${next}`
}

function refuseDowngrade({ version }: NewPluginVersion, before: PluginRow): void {
  if (compareVersions(version, before.version) >= 0) return
  throw new IsolaError(
    'request_conflict',
    `version: ${version} is older than ${before.version}, which is installed. Add it with allowDowngrade if ` +
      'you mean it, or roll back.',
    { param: 'version' },
  )
}

/** Orders two semantic versions: below 0 if the first is older. A pre-release is older than its release. */
function compareVersions(a: string, b: string): number {
  const [coreA, preA] = splitVersion(a)
  const [coreB, preB] = splitVersion(b)
  const order = compareLists(coreA.split('.'), coreB.split('.'))
  if (order !== 0 || preA === preB) return order
  if (preA === undefined || preB === undefined) return preA === undefined ? 1 : -1
  return compareLists(preA.split('.'), preB.split('.'))
}

function splitVersion(version: string): readonly [string, string | undefined] {
  const at = version.indexOf('-')
  return at < 0 ? [version, undefined] : [version.slice(0, at), version.slice(at + 1)]
}

/**
 * Semantic versioning 2.0.0, item 11: numbers by value and before words, the shorter list first. A core is such a list
 * too.
 */
function compareLists(a: readonly string[], b: readonly string[]): number {
  for (const [index, one] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    if (one === other) continue
    const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)]
    if (isNumber && isOtherNumber && Number(one) !== Number(other))
      return Number(one) - Number(other)
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
    return one < other ? -1 : 1
  }
  return a.length - b.length
}
