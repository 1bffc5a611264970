import type { PlatformCount } from '#contracts/platform.ts'
import type { Meter } from '../storage/meter.ts'
import type { AuditOutbox } from './audit-outbox.ts'
import type { Runs } from '../runs/runs.ts'

export interface RestBillOptions {
  readonly runs: Pick<Runs, 'isIdle'>
  readonly outbox: Pick<AuditOutbox, 'isEmpty'>
  readonly meter: Meter
  readonly deployment: PlatformCount | undefined
}

/** What no run is booked with, where none is at work, is the deployment's. Never throws. */
export function bookRest({ runs, outbox, meter, deployment }: RestBillOptions): void {
  try {
    if (!runs.isIdle()) return
    // What a run was booked with beforehand has followed.
    if (outbox.isEmpty()) meter.paid()
    deployment?.count(meter.leftover())
  } catch {
    // A disk that fails is told by whoever needs it; what was counted is booked later.
  }
}
