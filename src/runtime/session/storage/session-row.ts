import type { AgentPin, PinnedAgent } from '#runtime/kernel/types/agent-pin.ts'
import type { RunPin, RunRow, Addition, SessionRow } from './stored-rows.ts'
import type { SessionStore } from './store.ts'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import type { SessionApi } from '../types/session-api.ts'
import type { Submission } from '../types/submission.ts'

/** A run to write, and the other rows without pins that they no longer need. */
interface Pinned {
  readonly row: RunRow
  readonly freed: readonly RunRow[]
}

/** Decides which row keeps the pin of a new run. The freed rows are written in the same transaction. */
export function withPin(run: RunRow, pin: AgentPin | undefined, store: SessionStore): Pinned {
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
export function pinnedIn({ pin }: RunRow, store: SessionStore): AgentPin | undefined {
  const agent = pin && (pin.agent ?? keptAt(pin, store))
  return agent && { hash: pin.hash, agent }
}

function keptAt({ hash, at }: RunPin, store: SessionStore): PinnedAgent | undefined {
  const kept = store.runs(at, at)[0]?.pin
  return kept?.hash === hash ? kept.agent : undefined
}

/** The pin of the newest run. */
function lastPin(store: SessionStore): RunPin | undefined {
  const last = store.lastOrder()
  return last > 0 ? store.runs(last, last)[0]?.pin : undefined
}

const neededBy = (store: SessionStore): ReadonlySet<number> =>
  new Set(store.unfinishedRuns().flatMap(({ pin }) => pin?.at ?? []))

function freed(at: number, store: SessionStore): readonly RunRow[] {
  const [row] = store.runs(at, at)
  if (!row?.pin?.agent) return []
  const { agent: _freed, ...pin } = row.pin
  return [{ ...row, pin }]
}

type About = Parameters<SessionApi['create']>[0]

/** The same key names the same session, so its creation must match too. */
export const isSameAs = (existing: SessionRow, about: About): boolean =>
  existing.agent === about.agent &&
  existing.persona === about.persona &&
  JSON.stringify(existing.limits ?? {}) === JSON.stringify(about.limits ?? {})

/** The session's persona, for a request that names none. */
export const personaOf = ({ persona, personaSince = persona }: SessionRow): string | undefined =>
  personaSince ?? undefined

/** A session that is made before anything is said in it. */
export function created({ session: id, messages, ...about }: About, nowMs: number): SessionRow {
  const preamble = messages?.length && { preamble: messages }
  return { id, ...about, ...preamble, createdAtMs: nowMs }
}

/** The session as it is from this submission on; `undefined` if that changes nothing. */
export function begun(
  existing: SessionRow | undefined,
  { agent, principal, lineage, isStateless, onDemand }: Submission,
  now: { readonly id: string; readonly nowMs: number },
): SessionRow | undefined {
  if (!existing) {
    const about = {
      agent,
      principal,
      ...defined({ lineage }),
      ...(isStateless && { isStateless }),
      ...(onDemand && { keepMs: onDemand.keepMs }),
    }
    return { id: now.id, ...about, createdAtMs: now.nowMs }
  }
  const { isStateless: wasStateless, ...named } = existing
  const isNamedNow = wasStateless && !isStateless
  if (existing.agent !== undefined && !isNamedNow) return undefined
  return { ...(isNamedNow ? named : existing), agent }
}

/** Everything that was added to a session stays in one row. */
const maxAddedChars = 2_000_000

/**
 * Changes a session's metadata or persona, or adds a client's messages between runs. Throws `request_conflict` while a
 * run is not over, `request_too_large`.
 */
export function amendSession(
  { store, isIdle }: { readonly store: SessionStore; readonly isIdle: () => boolean },
  session: SessionRow,
  { metadata, persona, messages = [] }: Parameters<SessionApi['amend']>[1],
): void {
  const added = messages.length > 0 ? withMessages(session, messages, store.lastOrder()) : {}
  if (messages.length > 0) {
    if (!isIdle() || store.unfinishedRuns().length > 0) {
      const message = 'A response in it is not over: add items before or after it.'
      throw new IsolaError('request_conflict', message)
    }
    if (JSON.stringify(added).length > maxAddedChars) {
      const message = `What is added to a conversation may have ${maxAddedChars} characters together.`
      throw new IsolaError('request_too_large', message, { param: 'items' })
    }
  }
  store.writeSession({
    ...session,
    ...added,
    ...defined({ metadata, personaSince: persona }),
  })
}

function withMessages(
  { preamble = [], additions = [] }: SessionRow,
  messages: readonly Message[],
  behind: number,
): Pick<SessionRow, 'preamble' | 'additions'> {
  if (behind === 0) return { preamble: [...preamble, ...messages] }
  return { additions: [...additions, { behind, messages }] }
}

/** The messages between two runs. @param to Absent: everything from there on. */
export const addedBetween = (
  { additions = [] }: Pick<SessionRow, 'additions'>,
  from: number,
  to = Number.MAX_SAFE_INTEGER,
): readonly Addition[] => additions.filter(({ behind }) => behind >= from && behind < to)
