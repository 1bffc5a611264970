import type { Schedule, ScheduleSpec } from '../../src/runtime/session/types/schedule.ts'

export const minuteMs = 60_000

/** A schedule of every ten minutes that began at zero. */
export function scheduleOf(
  spec: Partial<ScheduleSpec> = {},
  more: Partial<Schedule> = {},
): Schedule {
  return {
    id: 'sch_0000000000000000000001',
    owner: 'principal:ada',
    asker: { principal: 'ada' },
    spec: {
      name: 'Test',
      when: { everyMs: 10 * minuteMs, anchorMs: 0 },
      work: { agent: 'orchestrator', task: 'Go.' },
      catchUp: 'once',
      overlap: 'skip',
      jitterMs: 0,
      daily: { runs: 1_000 },
      stopAfterFailures: 3,
      deliver: { to: 'none' },
      ...spec,
    },
    createdAtMs: 0,
    nextMs: 0,
    failures: 0,
    day: { day: '', runs: 0, tokens: 0, costNanoUsd: 0 },
    version: 1,
    ...more,
  }
}
