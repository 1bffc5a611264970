import { pinsOf, type Generation } from '../types/generation.ts'
import type { PartOutcome, RestoredPart } from '../types/part-kind.ts'
import type { PluginStore } from '../types/plugin-store.ts'

interface SignedDeps {
  readonly store: Pick<PluginStore, 'list' | 'versions'>
  /** Names of the keys that are accepted now. */
  readonly signers: () => Promise<readonly string[]>
}

/** The same with nothing in it that a removed key had signed: such a plugin is a stranger's, and goes on as one. */
export async function asSigned<T extends Pick<PartOutcome, 'rows' | 'pins'>>(
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
export async function lowerPlugins(
  deps: SignedDeps,
  now: Generation,
): Promise<RestoredPart | undefined> {
  const before = (await deps.store.list()).filter(({ tier }) => tier === 'trusted')
  const plugin = pinsOf(now, 'plugin')
  const { rows, pins } = await asSigned(deps, { rows: before, pins: { plugin } })
  const lowered = rows.filter(({ tier }) => tier !== 'trusted')
  if (lowered.length === 0) return undefined
  return { rows: lowered, pins, told: { plugins: lowered.map(({ id }) => id) }, notes: [] }
}
