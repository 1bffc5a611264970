import type { ObjectReply } from '#contracts/reply.ts'
import type {
  DayAmount,
  DayLeaseRequest,
  DayPiece,
  DaySettlement,
} from '#runtime/session/types/principal.ts'
import type { createDayLedger } from './day-ledger.ts'
import { callPiecesBack, type SweepOptions } from './sweep-job.ts'

interface DayRequestsOptions {
  readonly sweep: { readonly ensure: () => void }
  readonly billed: <T>(work: (nowMs: number) => ObjectReply<T>) => Promise<ObjectReply<T>>
}

/**
 * Reservations and settlements as they arrive at a principal's object. A reservation that would be less because of
 * pieces waits until these are called back; meanwhile no session gets one.
 */
export function createDayRequests(
  { sessions, clock }: Pick<SweepOptions, 'sessions' | 'clock'>,
  ledger: ReturnType<typeof createDayLedger>,
  { sweep, billed }: DayRequestsOptions,
) {
  const calls = { sessions, clock, checks: ledger.checks }
  let callingBack = 0
  return {
    async reserve(request: DayLeaseRequest, limits: DayAmount): Promise<ObjectReply<DayAmount>> {
      const inTheWay = () => ledger.inTheWay(request, limits, clock.nowMs())
      callingBack += 1
      try {
        await callPiecesBack(inTheWay, calls)
        return await billed((nowMs) => {
          const reply = ledger.reserve(request, limits, nowMs)
          if (reply.ok) sweep.ensure()
          return reply
        })
      } finally {
        callingBack -= 1
      }
    },
    settle: (request: DaySettlement, limits?: DayAmount): Promise<ObjectReply<DayPiece | null>> =>
      billed((nowMs) => {
        const may = callingBack === 0 ? limits : undefined
        const piece = ledger.settleAndReserve(request, may, nowMs)
        if (piece) sweep.ensure()
        return { ok: true, value: piece ?? null }
      }),
  }
}
