import { IsolaError } from '#contracts/errors.ts'
import { toFloorView, type Floor, type FloorEnding, type FloorView } from '#contracts/floor.ts'
import { toRepeated } from './entry/submission.ts'
import type { Scope } from './scope.ts'
import type { Submissions } from './submissions.ts'
import { isPassedOn, reclaimFloor } from './floor/floors.ts'
import { isHeld } from './floor/message-router.ts'
import { floorKey, noteOf } from './floor/note.ts'
import { cancelBackground } from './floor/revoke.ts'

/** Who takes a conversation back, besides whoever has it. */
export interface FloorKeeper {
  /** Throws `request_conflict` if nobody has the conversation. @param by The operator who does it; its user if absent. */
  readonly reclaim: (principal: string, by: string | undefined) => FloorView
  /** Its time is looked at. @returns When to come back, if somebody has the conversation. */
  readonly expire: () => number | undefined
  /** Whoever began this session is done with it: all that works in it and below it is over. Resolves once it is. */
  readonly revoke: (reason: string) => Promise<void>
}

export function createFloorKeeper(
  scope: Scope,
  { admit }: Pick<Submissions, 'admit'>,
): FloorKeeper {
  const { runtime, parts, own, refuseWhileDeleting } = scope

  /** Puts its end on record at once, in a run of its own. Where that cannot be, the next run does. */
  const announce = (floor: Floor): void => {
    const row = parts().store.findRun(floor.id)
    if (!row) return
    const { principal, trace, key, grant, dayLimits, agent, lineage, chain } = row.submission
    const kept = {
      principal,
      trace,
      agent,
      ...(key && { key }),
      ...(grant && { grant }),
      ...(dayLimits && { dayLimits }),
      ...(lineage && { lineage }),
      ...(chain && { chain }),
    }
    const request = toRepeated(kept, {
      under: floorKey(floor),
      messages: [noteOf(floor)],
      isNote: true,
      mustExist: true,
    })
    void admit(scope.id(), request, 'result')
      .then(({ live }) => live?.accepted)
      .catch(() => {})
  }
  const end = (reason: FloorEnding, by?: string): Floor | undefined => {
    const floor = reclaimFloor({ reason, by }, { ...parts(), runtime })
    if (floor) {
      announce(floor)
      parts().upkeep.carry()
    }
    return floor
  }

  return {
    reclaim(principal, by) {
      own(principal)
      refuseWhileDeleting()
      const floor = end(by === undefined ? 'user' : 'operator', by)
      if (floor) return toFloorView(floor)
      throw new IsolaError('request_conflict', 'The conversation is with the session’s own agent.')
    },
    expire() {
      const { store } = parts()
      const floor = store.floor()
      if (!isHeld(floor)) return undefined
      const nowMs = runtime.clock.nowMs()
      // While a message of it is worked on or waits for somebody, that has a time of its own.
      if (store.unfinishedRuns().some(isPassedOn(floor))) return nowMs + floor.terms.timeoutMs
      if (nowMs < floor.untilMs) return floor.untilMs
      end('timeout')
      return undefined
    },
    async revoke(reason) {
      const { runs, upkeep } = parts()
      // First: what ends now may hand over or begin something with its last turn.
      await runs.cancelAll(reason)
      end('revoked')
      cancelBackground(parts())
      upkeep.carry()
    },
  }
}
