import type { AgentPin, PinnedAgent } from '#runtime/kernel/types/agent-pin.ts'
import type { RunPin } from './begun-with.ts'
import type { SessionStore } from './store.ts'
import type { RunRow } from './stored-rows.ts'

type Runs = Pick<SessionStore, 'lastOrder' | 'runs' | 'unfinishedRuns'>

/** A run to write, and the other rows without pins that they no longer need. */
export interface Pinned {
  readonly row: RunRow
  readonly freed: readonly RunRow[]
}

/** Decides which row keeps the pin of a new run. The freed rows are written in the same transaction. */
export function withPin(run: RunRow, pin: AgentPin | undefined, store: Runs): Pinned {
  if (!pin) return { row: run, freed: [] }
  const before = lastPin(store)
  const isSame = before?.hash === pin.hash
  const candidates = before ? [...(before.older ?? []), ...(isSame ? [] : [before.at])] : []
  const needed = candidates.length > 0 ? neededBy(store) : new Set<number>()
  const older = candidates.filter((at) => needed.has(at))
  const kept = isSame ? { at: before.at } : { at: run.order, agent: pin.agent }
  return {
    row: { ...run, pin: { hash: pin.hash, ...kept, ...(older.length > 0 && { older }) } },
    freed: candidates.filter((at) => !needed.has(at)).flatMap((at) => freed(at, store)),
  }
}

/** The pin of a run; `undefined` if it was not stored, or cannot be read. */
export function pinnedIn(
  { pin }: Pick<RunRow, 'pin'>,
  store: Pick<SessionStore, 'runs'>,
): AgentPin | undefined {
  const agent = pin && (pin.agent ?? keptAt(pin, store))
  return agent && { hash: pin.hash, agent }
}

function keptAt({ hash, at }: RunPin, store: Pick<SessionStore, 'runs'>): PinnedAgent | undefined {
  const kept = store.runs(at, at)[0]?.pin
  return kept?.hash === hash ? kept.agent : undefined
}

/** The pin of the newest run. */
function lastPin(store: Runs): RunPin | undefined {
  const last = store.lastOrder()
  return last > 0 ? store.runs(last, last)[0]?.pin : undefined
}

const neededBy = (store: Runs): ReadonlySet<number> =>
  new Set(store.unfinishedRuns().flatMap(({ pin }) => pin?.at ?? []))

function freed(at: number, store: Runs): readonly RunRow[] {
  const [row] = store.runs(at, at)
  if (!row?.pin?.agent) return []
  const { agent: _freed, ...pin } = row.pin
  return [{ ...row, pin }]
}
