import { IsolaError } from '#contracts/errors.ts'
import { withData, type DeploymentDraft } from '#contracts/event.ts'
import { type Generation, type PartKind, type Pins } from '../types/generation.ts'
import type {
  DecidingPart,
  PartKindEntry,
  PartKinds,
  PartOutcome,
  RestoredPart,
} from '../types/part-kind.ts'
import type { PluginChange, ChangeFacts, PluginStore } from '../types/plugin-catalog.ts'
import { generationOf } from './restore.ts'

/** The table of kinds decides a change. */
export interface DecideDeps {
  readonly store: Pick<PluginStore, 'generation'>
  readonly kinds: PartKinds
}

/** The outcome of a change of any kind. Throws what is refused. */
export async function decide(
  deps: DecideDeps,
  change: PluginChange,
  now: DecidingPart,
): Promise<PartOutcome> {
  const entries: readonly PartKindEntry[] = Object.values(deps.kinds)
  if (change.do === 'restore') return goBack(deps, change, now.generation)
  if (change.do === 'distrust') return distrust(entries, now.generation)
  refuseTaken(entries, change, now.facts)
  for (const entry of entries) {
    const outcome = await entry.decide(change, now)
    if (outcome) return withWhatLeaves(entries, outcome, now.generation)
  }
  throw new Error(`No kind decides "${change.do}".`)
}

/** Refuses an id that another part has, of any kind: tools are named after their owner. */
function refuseTaken(
  entries: readonly PartKindEntry[],
  change: PluginChange,
  facts: ChangeFacts,
): void {
  for (const entry of entries) {
    const id = entry.claims?.(change)
    if (id === undefined) continue
    if (facts.isAgent) throw agentHas(id)
    for (const other of entries) if (other !== entry) other.refuse?.(id, facts)
  }
}

/** Refuses an id that an agent has: every run of that agent would get the new plugin in its place. */
function agentHas(id: string): IsolaError {
  const message =
    `id: "${id}" is that of an agent (isola agent show ${id}), which it would displace. Choose another ` +
    `id, or have the agent deleted: isola agent delete ${id}`
  return new IsolaError('request_conflict', message, { param: 'id' })
}

function withWhatLeaves(
  entries: readonly PartKindEntry[],
  outcome: PartOutcome,
  before: Generation,
): PartOutcome {
  const { removed } = outcome
  if (removed === undefined) return outcome
  return entries.reduce<PartOutcome>((so, entry) => {
    const left = entry.left?.(removed, before)
    return left ? joined(so, left) : so
  }, outcome)
}

/** Restores an earlier generation, kind by kind. */
async function goBack(
  { store, kinds }: DecideDeps,
  { generation: number, withPolicy = false }: Extract<PluginChange, { readonly do: 'restore' }>,
  now: Generation,
): Promise<PartOutcome> {
  const target = await generationOf(store, number)
  let outcome: PartOutcome = {
    told: { type: 'generation_restored', data: { restored: number } },
    notes: [],
  }
  for (const kind of Object.keys(kinds) as PartKind[])
    outcome = joined(outcome, await kinds[kind].restore({ target, now, withPolicy }))
  for (const entry of Object.values(kinds) as readonly PartKindEntry[])
    outcome = (await entry.prove?.(outcome, { generation: now })) ?? outcome
  return outcome
}

/**
 * Lowers the trust tier of everything that a removed key had signed, in each kind. Writes nothing if the key had signed
 * nothing.
 */
async function distrust(entries: readonly PartKindEntry[], now: Generation): Promise<PartOutcome> {
  const told = { type: 'trust_lowered', data: {} } as const
  let outcome: PartOutcome = { told, notes: [], isRehearsal: true }
  for (const entry of entries) {
    const lower = await entry.lower?.(now)
    if (lower) outcome = { ...joined(outcome, lower), isRehearsal: false }
  }
  return outcome
}

/** Adds the outcome of one more kind. */
const joined = (
  { rows = [], servers = [], skills = [], ...outcome }: PartOutcome,
  more: RestoredPart,
): PartOutcome => ({
  ...outcome,
  rows: [...rows, ...(more.rows ?? [])],
  servers: [...servers, ...(more.servers ?? [])],
  skills: [...skills, ...(more.skills ?? [])],
  pins: { ...outcome.pins, ...more.pins } satisfies Pins,
  told: withData(outcome.told, more.told ?? {}) satisfies DeploymentDraft,
  notes: [...outcome.notes, ...more.notes],
})
