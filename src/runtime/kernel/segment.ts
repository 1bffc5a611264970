import type { ContextFitter } from './types/context.ts'
import type { EventDraft } from '#contracts/event.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { RunInput, RunPorts } from './types/kernel.ts'
import type { Limits, Usage } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelProvider } from '#contracts/model.ts'
import type { Planner, Reflector, ToolExecutor } from './types/plan.ts'
import type { GateParts } from './types/policy.ts'
import type { Sources } from '#contracts/sources.ts'
import type { Ledger } from './types/lease.ts'
import { asLimits, createLedger } from './leases/ledger.ts'
import { createDeadlines, type Deadlines } from './deadlines.ts'
import type { Stamp } from './turn.ts'

/** The swappable parts (composition over subclassing). */
export interface KernelParts extends Sources {
  readonly planner: Planner
  readonly executor: ToolExecutor
  readonly reflector: Reflector
  readonly models: ModelProvider
  readonly gates: GateParts
  /** Absent: a model gets the whole conversation. */
  readonly context?: ContextFitter
}

/** A run between two pauses, with the parts that every phase uses. */
export interface RunSegment {
  readonly parts: KernelParts
  readonly input: RunInput
  readonly ports: RunPorts
  readonly ledger: Ledger
  /** Aborts on cancel and when the run's active time is used up. */
  readonly signal: AbortSignal
  readonly throwIfOver: () => void
  readonly stamp: Stamp
  readonly timeLeftMs: () => number
  readonly deadlines: Deadlines
  /** The rest of the run's lease. */
  readonly left: () => Limits
  /** The messages of finished turns, collected once. */
  readonly said: (readonly Message[])[]
  readonly close: () => void
}

/** @param before The spending of earlier segments and turns. */
export function openSegment(
  parts: KernelParts,
  input: RunInput,
  ports: RunPorts,
  before: Usage,
): RunSegment {
  const { clock } = parts
  const { limits } = input.agent
  const ledger = createLedger(limits, before)
  const startedAtMs = clock.nowMs()
  const timeLeftMs = () =>
    limits.maxTimeMs - before.timeMs - Math.max(0, clock.nowMs() - startedAtMs)
  const stop = new AbortController()
  const cancel = () => stop.abort(ports.signal.reason)
  ports.signal.addEventListener('abort', cancel)
  if (ports.signal.aborted) cancel()
  const deadlines = createDeadlines(clock)
  const timeUp = () => stop.abort(new IsolaError('lease_time', 'The time of this run is used up.'))
  deadlines.after(Math.max(0, timeLeftMs()), timeUp)
  return {
    parts,
    input,
    ports,
    ledger,
    timeLeftMs,
    deadlines,
    said: [],
    signal: stop.signal,
    throwIfOver() {
      if (timeLeftMs() <= 0) timeUp() // the limit may have been lowered
      stop.signal.throwIfAborted()
    },
    close() {
      deadlines.close()
      ports.signal.removeEventListener('abort', cancel)
    },
    stamp: (event: EventDraft) => ({
      ...event,
      seq: ports.nextSeq(),
      run: input.run,
      agent: input.agent.id,
      trace: input.trace,
      atMs: clock.nowMs(),
    }),
    left: () => ({ ...limits, ...asLimits(ledger.left()), maxTimeMs: timeLeftMs() }),
  }
}
