import { broken } from './upstream-faults.broken.ts'
import { toolCalls } from './upstream-faults.calls.ts'
import type { Fault } from './upstream-faults.fault.ts'
import { garbage } from './upstream-faults.garbage.ts'
import { bills, hostile } from './upstream-faults.hostile.ts'
import { inOnePiece } from './upstream-faults.one-piece.ts'
import { refusals } from './upstream-faults.refused.ts'

/** All faults, by the row of docs/reliability.md or docs/security.md that they belong to. */
export const faults: Readonly<Record<string, readonly Fault[]>> = {
  'F12: refused': refusals,
  'F13: broken off': broken,
  'F14: garbage': garbage,
  'F14: tool calls': toolCalls,
  'A7: hostile sizes': hostile,
  'T19: bills': bills,
  'F12–F14: unwatched': inOnePiece,
}
