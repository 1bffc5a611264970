import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import { toFloorView, type Floor, type FloorEnding, type FloorView } from './types/floor.ts'
import { toRepeated } from './entry/submit-as.ts'
import type { SessionAccess } from './session-parts.ts'
import type { Submissions } from './submissions.ts'
import { isPassedOn, reclaimFloor, cancelBackground } from './floor/floors.ts'
import { isHeld, floorKey, noteOf } from './floor/message-router.ts'

export type FloorKeeper = ReturnType<typeof createFloorKeeper>

/** Ends handoffs: for the user, for an operator, when their time is over, or with the session. */
export function createFloorKeeper(access: SessionAccess, { admit }: Submissions) {
  const { runtime, identity, current, own, refuseWhileDeleting } = access

  /** Records the end of the handoff at once, in a run of its own. If that run is refused, the next run records it. */
  const announce = (floor: Floor): void => {
    const row = current.parts.store.findRun(floor.id)
    if (!row) return
    const { principal, trace, key, grant, dayLimits, agent, lineage, chain } = row.submission
    const kept = {
      principal,
      trace,
      agent,
      ...(key && { key }),
      ...(grant && { grant }),
      ...defined({ dayLimits, lineage, chain }),
    }
    const request = toRepeated(kept, {
      under: floorKey(floor),
      messages: [noteOf(floor)],
      isNote: true,
      mustExist: true,
    })
    void admit(identity.id, request, 'result')
      .then(({ live }) => live?.accepted)
      .catch(() => {})
  }
  const end = (reason: FloorEnding, by?: string): Floor | undefined => {
    const floor = reclaimFloor({ reason, by }, { ...current.parts, runtime })
    if (floor) {
      announce(floor)
      current.parts.upkeep.carry()
    }
    return floor
  }

  return {
    /** Throws `request_conflict` if no agent has the conversation. @param by The operator; absent for the user. */
    reclaim: (principal: string, by: string | undefined): FloorView => {
      own(principal)
      refuseWhileDeleting()
      const floor = end(by === undefined ? 'user' : 'operator', by)
      if (floor) return toFloorView(floor)
      throw new IsolaError('request_conflict', 'The conversation is with the session’s own agent.')
    },
    /** Ends a handoff whose time is over. @returns When to look again, if an agent has the conversation. */
    expire: (): number | undefined => {
      const { store } = current.parts
      const floor = store.floor()
      if (!isHeld(floor)) return undefined
      const nowMs = runtime.clock.nowMs()
      // A run that works on a message of the handoff, or is parked, has a time limit of its own.
      if (store.unfinishedRuns().some(isPassedOn(floor))) return nowMs + floor.terms.timeoutMs
      if (nowMs < floor.untilMs) return floor.untilMs
      end('timeout')
      return undefined
    },
    /**
     * The call that made this session is cancelled: ends all work in it and below it. Resolves once its runs are
     * over.
     */
    revoke: async (reason: string): Promise<void> => {
      const { runs, upkeep } = current.parts
      // First: the last turn of a run may begin a handoff or a child.
      await runs.cancelAll(reason)
      end('revoked')
      cancelBackground(current.parts)
      upkeep.carry()
    },
  }
}
