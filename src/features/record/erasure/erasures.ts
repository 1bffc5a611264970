import { headOf } from '#contracts/cut.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { Erasure, ErasurePlace, ErasureProgress, ErasureStore } from '../types/operations.ts'
import type { Administrator } from '#contracts/keys.ts'
import type { Sources } from '#contracts/sources.ts'
import { operator } from '#features/access/principal-of.ts'
import { createPlaces, type PlaceParts } from './places.ts'

/** Parts of the erasure of persons. */
export interface ErasureParts extends Pick<Sources, 'clock' | 'ids'> {
  readonly store: ErasureStore
  /** In the order in which a pass visits them. */
  readonly places: readonly ErasurePlace[]
  /** Makes the person's object cancel work that goes on with an ended key. */
  readonly lookHeld: (principal: string) => Promise<void>
  /** Wakes the object that does the work. */
  readonly wake: () => Promise<void>
  readonly onFault: (error: unknown) => void
  readonly timing?: Partial<ErasureTiming>
}

interface ErasureTiming {
  /** Pause between two passes: late rows, such as the record of a running run, arrive meanwhile. */
  readonly quietMs: number
  /** About how long one call of `work` may take. */
  readonly workMs: number
}

const defaultTiming: ErasureTiming = { quietMs: 60_000, workMs: 15_000 }
/**
 * How many steps one call of `work` takes: each calls D1, objects or KV several times, and an invocation may do so a
 * thousand times.
 */
const maxSteps = 40
const maxRunning = 20
const maxTries = 6
const maxProblemChars = 300
const begun: ErasureProgress = {
  pass: 1,
  place: 0,
  after: 0,
  found: 0,
  tries: 0,
  erased: {},
  problems: {},
}

/** Erases persons: durable passes over a list of places, until a whole pass finds nothing (docs/erasure.md). */
export function createErasures(parts: ErasureParts) {
  const { store, clock, ids, lookHeld, wake, onFault } = parts
  const { quietMs, workMs } = { ...defaultTiming, ...parts.timing }

  /** @returns How many steps it took. */
  async function goOn(erasure: Erasure, untilMs: number, most: number): Promise<number> {
    let now = erasure
    let steps = 0
    while (now.state === 'running' && (now.nextMs ?? 0) <= clock.nowMs()) {
      steps += 1
      now = await step(now, parts.places, clock.nowMs, quietMs)
      await (now.state === 'done' ? store.finish(now, clock.nowMs()) : store.save(now))
      if (clock.nowMs() >= untilMs || steps >= most) break
    }
    return steps
  }
  const due = async (erasures: readonly Erasure[]): Promise<number | undefined> => {
    const times = erasures.map(({ nextMs = 0 }) => nextMs)
    return times.length === 0 ? undefined : Math.max(Math.min(...times), clock.nowMs() + 100)
  }
  return {
    /** Begins an erasure, or returns the running one. `isSelf`: the person asked. */
    async begin(principal: string, by: Administrator, isSelf: boolean): Promise<Erasure> {
      if (principal === operator.id) {
        const message = `principal: "${operator.id}" is whoever has the operator key of the deployment, and no person.`
        throw new IsolaError('request_invalid', message, { param: 'principal' })
      }
      const nowMs = clock.nowMs()
      const erasure = await store.begin(
        {
          id: ids.next('erased'),
          principal,
          state: 'running',
          askedBy: isSelf ? 'self' : by.principal,
          askedAtMs: nowMs,
          nextMs: nowMs,
          progress: begun,
        },
        by,
      )
      // The erasure is written already; if a call fails, `watch` finds it due.
      await Promise.all([lookHeld(principal), wake()].map((told) => told.catch(onFault)))
      return erasure
    },
    async find(id: string): Promise<Erasure> {
      const erasure = await store.find(id)
      if (!erasure) throw new IsolaError('request_not_found', 'There is no such erasure.')
      return erasure
    },
    list: store.list,
    /** Goes on with the due erasures. Never throws. @returns When more work is due, epoch milliseconds. */
    async work(): Promise<number | undefined> {
      try {
        const untilMs = clock.nowMs() + workMs
        let left = maxSteps
        for (const erasure of await store.running(maxRunning)) {
          if (clock.nowMs() >= untilMs || left <= 0) break
          left -= await goOn(erasure, untilMs, left)
        }
        return await due(await store.running(maxRunning))
      } catch (error) {
        onFault(error)
        return clock.nowMs() + quietMs
      }
    },
    /** Wakes the object if an overdue erasure shows that its alarm was lost. Never throws. */
    async watch(): Promise<void> {
      try {
        const [first] = await store.running(1)
        if (first && (first.nextMs ?? 0) <= clock.nowMs() - quietMs) await wake()
      } catch (error) {
        onFault(error)
      }
    },
  }
}

/** Erases persons. Throws `request_invalid`, `request_not_found` and `request_unavailable`. */
export type ErasureAdministration = ReturnType<typeof createErasures>

/** One step at one place; after the last place the pass ends. */
async function step(
  erasure: Erasure,
  places: readonly ErasurePlace[],
  nowMs: () => number,
  quietMs: number,
): Promise<Erasure> {
  const { progress } = erasure
  const place = places[progress.place]
  if (!place) return passed(erasure, nowMs(), quietMs)
  const person = { principal: erasure.principal, pseudonym: erasure.id }
  const { [place.name]: _before, ...problems } = progress.problems
  try {
    const { erased, next } = await place.erase(person, progress.after)
    return {
      ...erasure,
      progress: {
        ...progress,
        problems,
        place: progress.place + (next === undefined ? 1 : 0),
        after: next ?? 0,
        found: progress.found + erased,
        erased: counted(progress.erased, place.name, erased),
      },
    }
  } catch (error) {
    // The other places need not wait for this place.
    const message = errorMessage(error).replaceAll(erasure.principal, erasure.id)
    const problem = headOf(message, maxProblemChars)
    const at = { place: progress.place + 1, after: 0 }
    return {
      ...erasure,
      progress: { ...progress, ...at, problems: { ...problems, [place.name]: problem } },
    }
  }
}

/**
 * Done if a whole pass found nothing and nothing failed; else another pass follows, after a failure with a longer
 * pause.
 */
function passed(erasure: Erasure, nowMs: number, quietMs: number): Erasure {
  const { progress } = erasure
  const { pass, found, erased, problems } = progress
  const hasFailed = Object.keys(problems).length > 0
  if (found === 0 && !hasFailed && pass > 1) {
    const { nextMs: _done, ...rest } = erasure
    return { ...rest, state: 'done' }
  }
  const tries = hasFailed ? Math.min(progress.tries + 1, maxTries) : 0
  return {
    ...erasure,
    nextMs: nowMs + quietMs * (hasFailed ? 2 ** (tries - 1) : 1),
    progress: { ...begun, pass: pass + 1, tries, erased, problems },
  }
}

const counted = (all: ErasureProgress['erased'], name: string, more: number) => ({
  ...all,
  [name]: (all[name] ?? 0) + more,
})

/** Parts of the erasure of persons: each place is an entry of one list. */
interface ErasureRoomParts
  extends
    Omit<ErasureParts, 'places'>,
    Omit<PlaceParts, 'sessionRows' | 'emptyObject' | 'subscribers' | 'strangeSessions'> {
  readonly rows: {
    readonly store: ErasureParts['store']
    readonly sessionRows: PlaceParts['sessionRows']
    readonly subscribers: PlaceParts['subscribers']
    readonly strangeSessions: PlaceParts['strangeSessions']
    readonly tables: ErasureParts['places']
    readonly record: ErasureParts['places']
  }
  readonly principals: Pick<ErasureParts, 'lookHeld'> & {
    readonly empty: PlaceParts['emptyObject']
    readonly erase: ErasureParts['wake']
  }
}

/** Sessions first, since they still write to the record and to the principal's object; the record last. */
export const composeErasures = ({
  rows,
  principals,
  ...parts
}: Omit<ErasureRoomParts, 'store' | 'lookHeld' | 'wake'>) => {
  const elsewhere = createPlaces({ ...parts, ...rows, emptyObject: principals.empty })
  return createErasures({
    ...parts,
    store: rows.store,
    lookHeld: principals.lookHeld,
    wake: principals.erase,
    places: [...elsewhere, ...rows.tables, ...rows.record],
  })
}
