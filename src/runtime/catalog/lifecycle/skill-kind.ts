import { IsolaError } from '#contracts/errors.ts'
import {
  pinsOf,
  withoutPin,
  withPin,
  type Generation,
  type Pins,
  type SkillPin,
} from '../types/generation.ts'
import type {
  DecidingPart,
  PartKindEntry,
  PartOutcome,
  RestoredPart,
  RestoringPart,
} from '../types/part-kind.ts'
import type { PluginQuota, BundleStore } from '../types/plugin-catalog.ts'
import {
  skillOf,
  type SkillChange,
  type SkillRow,
  type SkillStore,
  type SkillVersion,
} from '../types/skill-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { noVersion, notYours } from './changes.ts'
import { checkQuota } from './quota.ts'
import { checkSkillName } from './names.ts'

/** The ports for changes of skills. */
export interface SkillKindDeps {
  readonly skills: SkillStore
  readonly bundles: Pick<BundleStore, 'checked'>
  readonly clock: Clock
  readonly quota: PluginQuota
  /** Names of the skills that ship with the deployment. */
  readonly bundledSkills: () => Promise<readonly string[]>
  /** Names of the keys that are accepted now. */
  readonly signers: () => Promise<readonly string[]>
}

/** Skills that were installed: texts, which run nothing and are given nothing. */
export const skillKind = (deps: SkillKindDeps): PartKindEntry<'skill'> => ({
  kind: 'skill',
  decide: (change, now) => (change.do === 'skill' ? decided(deps, change.skill, now) : undefined),
  restore: (going) => restoreSkills(deps, going),
  lower: (now) => lowerSkills(deps, now),
  sources: () => [],
  epoch: () => 0,
  wire: () => 'never',
})

/** The facts for one change. */
interface Situation {
  readonly row: (SkillRow & { readonly version?: SkillVersion }) | undefined
  readonly now: DecidingPart
}

async function decided(
  deps: SkillKindDeps,
  change: SkillChange,
  now: DecidingPart,
): Promise<PartOutcome> {
  const found = await deps.skills.find(skillOf(change))
  const row = found?.state === 'removed' ? undefined : found
  const situation = { row, now }
  switch (change.do) {
    case 'add':
      return add(deps, change, situation)
    case 'update':
      return update(deps, change, situation)
    case 'enable':
      return enable(deps, change, situation)
    case 'disable': {
      const off = present(situation)
      const told = { type: 'skill_disabled', data: toData(off) } as const
      const state = off.state === 'enabled' ? 'disabled' : off.state
      return { skills: [{ ...bare(off), state }], pins: without(situation), told, notes: [] }
    }
    case 'remove': {
      const gone = present(situation)
      const told = { type: 'skill_removed', data: toData(gone) } as const
      const removed = { kind: 'skill', id: gone.name } as const
      const skills = [{ ...bare(gone), state: 'removed' as const }]
      return { skills, pins: without(situation), removed, told, notes: [] }
    }
  }
}

/**
 * Adds a version, which changes nothing in force. If the skill is enabled, the version waits until an operator has seen
 * the differences and takes it (`update`).
 */
async function add(
  { skills, bundles, clock, quota, bundledSkills }: SkillKindDeps,
  {
    version,
    bundle,
    allowLookAlike = false,
    dryRun = false,
  }: Extract<SkillChange, { readonly do: 'add' }>,
  { row, now: { facts, by } }: Situation,
): Promise<PartOutcome> {
  const { name, hash, tier, source } = version
  if (row && !by.mayEnable && row.owner !== by.principal) throw notYours('name', name)
  const installed = row ? [] : (await skills.list()).map((one) => one.name)
  const isMeant = allowLookAlike && by.mayEnable
  checkSkillName(name, { bundled: await bundledSkills(), installed, isMeant })
  const [kept] = (await skills.versions(name)).filter((one) => one.hash === hash)
  checkQuota(quota, facts.usage, {
    sizeBytes: version.sizeBytes,
    isKept: kept !== undefined,
    isOperator: by.mayEnable,
    nowMs: clock.nowMs(),
  })
  const told = { type: 'skill_added', data: { skill: name, hash, tier, source } } as const
  const arrives = {
    bundle: bundles.checked(hash, bundle),
    skillVersion: version,
    told,
    isRehearsal: dryRun,
  }
  if (row?.hash === hash && kept?.tier === tier)
    return { ...arrives, notes: [`"${name}" is installed in this version already.`] }
  if (row?.state === 'enabled')
    return {
      ...arrives,
      notes: [
        `"${name}" is enabled in another version, which goes on until an operator takes this one: isola ` +
          `skill update ${name} ${hash.slice(0, 12)}`,
      ],
    }
  const arrived = {
    name,
    hash,
    state: row?.state ?? 'installed',
    owner: row?.owner ?? by.principal,
  }
  return { ...arrives, skills: [arrived], notes: [] }
}

/**
 * Takes exactly the version that the operator reviewed. A version that requires more, or has a lower trust tier, is off
 * until it is enabled.
 */
async function update(
  deps: SkillKindDeps,
  { name, hash }: Extract<SkillChange, { readonly do: 'update' }>,
  situation: Situation,
): Promise<PartOutcome> {
  const before = present(situation)
  const version = (await deps.skills.versions(name)).find((one) => one.hash === hash)
  if (!version) throw noVersion(name)
  const tier = await tierOf(deps, version)
  const told = {
    type: 'skill_updated',
    data: { ...toData(version), tier, from: before.hash },
  } as const
  const row = { ...bare(before), hash }
  if (before.hash === hash) return { told, notes: ['It has this version already.'] }
  if (before.state !== 'enabled') return { skills: [row], told, notes: [] }
  const more = version.requires.filter((one) => !before.version?.requires.includes(one))
  const isLess = tier === 'community' && before.version?.tier === 'trusted'
  const why = [
    ...(more.length > 0 ? [`It requires more than the version before: ${more.join(', ')}.`] : []),
    ...(isLess ? ['It is trusted less than the version before.'] : []),
  ]
  if (why.length === 0)
    return { skills: [row], pins: having(situation, { id: name, hash, tier }), told, notes: [] }
  const notes = [
    `${why.join(' ')} So it is disabled: isola skill enable ${name} ${hash.slice(0, 12)}`,
  ]
  return { skills: [{ ...row, state: 'disabled' }], pins: without(situation), told, notes }
}

async function enable(
  deps: SkillKindDeps,
  { hash: seen }: Extract<SkillChange, { readonly do: 'enable' }>,
  situation: Situation,
): Promise<PartOutcome> {
  const row = present(situation)
  const { name, hash, version } = row
  if (!version)
    throw new IsolaError('request_conflict', `"${name}" is not kept any more: add it again.`)
  if (seen !== undefined && seen !== hash)
    throw new IsolaError(
      'request_conflict',
      `hash: "${name}" has another version now. Look again (isola skill show ${name}) and enable what you see.`,
      { param: 'hash' },
    )
  const tier = await tierOf(deps, version)
  const told = { type: 'skill_enabled', data: { skill: name, hash, tier } } as const
  if (row.state === 'enabled') return { told, notes: ['It is enabled already.'] }
  const pins = having(situation, { id: name, hash, tier })
  return { skills: [{ ...bare(row), state: 'enabled' }], pins, told, notes: [] }
}

/**
 * Restores the skills that were enabled then, in their version of then. A skill that was removed since stays removed.
 */
async function restoreSkills(
  deps: SkillKindDeps,
  { target }: RestoringPart,
): Promise<RestoredPart> {
  const pins = pinsOf(target, 'skill')
  const [rows, kept] = await Promise.all([
    deps.skills.rows(),
    deps.skills.kept(pins.map(({ hash }) => hash)),
  ])
  const back: SkillPin[] = []
  const notes: string[] = []
  for (const pin of pins) {
    const version = kept.find(({ name, hash }) => name === pin.id && hash === pin.hash)
    const row = rows.find(({ name }) => name === pin.id)
    if (row?.state === 'removed')
      notes.push(`The skill "${pin.id}" stays off: it was removed since.`)
    else if (!version)
      notes.push(`The skill "${pin.id}" stays off: its version is not kept any more.`)
    else back.push({ ...pin, tier: await tierOf(deps, version) })
  }
  const skills = rows.flatMap((row): readonly SkillRow[] => {
    const pin = back.find(({ id }) => id === row.name)
    if (pin) return [{ ...row, hash: pin.hash, state: 'enabled' }]
    return row.state === 'enabled' ? [{ ...row, state: 'disabled' }] : []
  })
  const regained = back
    .map(({ id }) => id)
    .filter((id) => rows.some((row) => row.name === id && row.state !== 'enabled'))
  const told = { regainedSkills: regained }
  return { skills, pins: { skill: back }, notes, ...(regained.length > 0 && { told }) }
}

async function lowerSkills(
  deps: SkillKindDeps,
  now: Generation,
): Promise<RestoredPart | undefined> {
  const pins = pinsOf(now, 'skill')
  const trusted = pins.filter(({ tier }) => tier === 'trusted')
  const kept = await deps.skills.kept(trusted.map(({ hash }) => hash))
  const signers = await deps.signers()
  const isSigned = (pin: SkillPin) =>
    kept.some(
      ({ name, hash, signer = '' }) =>
        name === pin.id && hash === pin.hash && signers.includes(signer),
    )
  const lowered = trusted.filter((pin) => !isSigned(pin))
  if (lowered.length === 0) return undefined
  const skill = pins.map((pin) =>
    lowered.includes(pin) ? { ...pin, tier: 'community' as const } : pin,
  )
  return { pins: { skill }, told: { skills: lowered.map(({ id }) => id) }, notes: [] }
}

/** A removed key's signature no longer counts. */
const tierOf = async (
  { signers }: Pick<SkillKindDeps, 'signers'>,
  { tier, signer }: SkillVersion,
): Promise<SkillPin['tier']> =>
  tier === 'trusted' && (await signers()).some((name) => name === signer) ? 'trusted' : 'community'

const having = ({ now: { generation } }: Situation, pin: SkillPin): Pins => ({
  skill: withPin(pinsOf(generation, 'skill'), pin),
})
const without = ({ row, now: { generation } }: Situation): Pins => ({
  skill: withoutPin(pinsOf(generation, 'skill'), row?.name ?? ''),
})

function present({ row }: Situation) {
  if (row) return row
  throw new IsolaError(
    'request_not_found',
    'There is no such skill, or it ships with the deployment.',
  )
}

const bare = ({ name, hash, state, owner }: SkillRow): SkillRow => ({ name, hash, state, owner })
const toData = ({ name, hash }: Pick<SkillRow, 'name' | 'hash'>) => ({ skill: name, hash })
