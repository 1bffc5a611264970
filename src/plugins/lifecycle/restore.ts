import { IsolaError } from '#contracts/errors.ts'
import { widened } from '#contracts/permit.ts'
import type { Generation, PluginPin, PluginRow, PluginStore } from '#contracts/plugin-catalog.ts'
import { defaultToolPolicy, policyDiff } from '#contracts/tool-policy.ts'
import { installed } from './allow.ts'
import { withRow, type Outcome, type Situation } from './changes.ts'

/** How far back a rollback looks for another version. */
const maxGenerations = 200

/** The version of a plugin that was enabled last before the one it has now, with what was allowed then. */
export async function rollback(store: PluginStore, situation: Situation): Promise<Outcome> {
  const row = installed(situation)
  const pin = await findEarlier(store, row)
  if (!pin) {
    const message = `"${row.id}" was never enabled in another version, or what it was allowed was taken back since: add that version and grant it.`
    throw new IsolaError('request_conflict', message)
  }
  const back = toRow(pin, row, (await store.version(pin.id, pin.hash))?.manifest ?? row.manifest)
  return {
    rows: [back],
    generation: withRow(situation.generation, back),
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

/** What a rollback goes back to. */
export async function findEarlier(
  store: PluginStore,
  row: PluginRow,
): Promise<PluginPin | undefined> {
  const [latest] = await store.generations(1)
  const revokedIn = revocationOf(await revocations(store), row.id)
  for (let number = latest?.number ?? 0, seen = 0; number > 0 && seen < maxGenerations; seen += 1) {
    // What was taken back is not had back by going back: it is granted again, or not.
    if (number <= revokedIn) return undefined
    const generation = await store.generation(number)
    const pin = generation?.installed.find(({ id }) => id === row.id)
    // Never the one it has: to go on with that is to enable it.
    if (pin && pin.hash !== row.hash) return pin
    number -= 1
  }
  return undefined
}

/** The last generation in which what a plugin was allowed was taken back; 0 if there is none. */
function revocationOf(taken: ReadonlyMap<string, number>, id: string): number {
  const last = (kind: string) => taken.get(`${kind} ${id}`) ?? 0
  return Math.max(...revoking.map(last))
}

const revoking = ['plugin_revoked', 'plugin_removed']
const revocations = (store: PluginStore) => store.newest(revoking)

/** @throws `request_not_found` */
export async function generationOf(store: PluginStore, number: number): Promise<Generation> {
  const then = await store.generation(number)
  if (then?.number === number) return then
  throw new IsolaError('request_not_found', 'There is no such generation.')
}

/** All of an earlier generation: what was enabled then, and nothing else. */
export async function restore(
  store: PluginStore,
  { target, withPolicy }: { readonly target: Generation; readonly withPolicy?: boolean },
  now: Generation,
): Promise<Outcome> {
  const { number } = target
  const [rows, taken] = await Promise.all([store.list(), revocations(store)])
  const back: PluginRow[] = []
  const notes: string[] = []
  const pairs: [PluginRow, PluginPin][] = []
  for (const row of rows.filter(({ tier }) => tier !== 'builtin')) {
    const pin = target.installed.find(({ id }) => id === row.id)
    const isTaken = revocationOf(taken, row.id) > number
    if (pin && isTaken)
      notes.push(`"${row.id}" stays off: what it was allowed was taken back since.`)
    if (pin && !isTaken) {
      pairs.push([row, pin])
      back.push(toRow(pin, row, (await store.version(pin.id, pin.hash))?.manifest ?? row.manifest))
    } else if (row.state === 'enabled')
      back.push({ ...row, state: 'disabled', grantEpoch: row.grantEpoch + 1 })
  }
  const regainedNow = regained(pairs)
  return {
    rows: [...back, ...switchedBack(rows, target, now)],
    generation: {
      installed: back
        .filter(({ state }) => state === 'enabled')
        .flatMap((row) => withRow({ number: 0, installed: [], bundled: {} }, row).installed),
      bundled: target.bundled,
      ...(withPolicy && { policy: target.policy ?? defaultToolPolicy }),
    },
    told: {
      type: 'generation_restored',
      data: {
        restored: number,
        ...(regainedNow.length > 0 && { regained: regainedNow }),
        ...(withPolicy && { policy: policyDiff(policyOf(now), policyOf(target)) }),
      },
    },
    notes: [...notes, ...regainedNow],
  }
}

/** What was taken back since, and is allowed again by going back: the operator is told, so that nobody gets it unseen. */
const regained = (pairs: readonly (readonly [PluginRow, PluginPin])[]): readonly string[] =>
  pairs.flatMap(([row, pin]) => {
    const lines = widened(pin.permit, row.permit).map(({ text }) => text)
    const isBack = row.state === 'removed' ? ' (it had been removed)' : ''
    return lines.length === 0 && isBack === ''
      ? []
      : [`"${row.id}" may again${isBack}: ${lines.join('; ') || 'run'}.`]
  })

const policyOf = ({ policy = defaultToolPolicy }: Generation) => policy

/** Plugins of the deployment that were as now, or as their manifest says, another way. */
function switchedBack(
  rows: readonly PluginRow[],
  target: Generation,
  now: Generation,
): readonly PluginRow[] {
  return rows.flatMap((row) => {
    if (row.tier !== 'builtin' || target.bundled[row.id] === now.bundled[row.id]) return []
    const isOn = Object(row.manifest).enabled !== false
    const state = target.bundled[row.id] ?? (isOn ? 'enabled' : 'disabled')
    return [{ ...row, state }]
  })
}

function toRow(pin: PluginPin, row: PluginRow, manifest: unknown): PluginRow {
  const { problem: _solved, ...rest } = row
  const { hash, version, tier, permit, config } = pin
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
  }
}
