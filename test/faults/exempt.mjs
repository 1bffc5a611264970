// Failpoints that the campaign does not have to reach, each with the reason. `npm run faults` and its short form are red
// for a failpoint that no scenario reaches and that is not here, and for a name that is here and does not exist.

/** No scenario reaches these. An entry that a scenario reaches after all is a mistake in this list. */
export const exempt = {
  'runtime/session/submissions#admitClaimed.1':
    'The campaign asks with the operator key, which carries no claim (workers/claims.workers.test.ts).',
  'runtime/session/submissions#admitClaimed.3': 'As runtime/session/submissions#admitClaimed.1.',
  'runtime/session/submissions#admitClaimed.4': 'As runtime/session/submissions#admitClaimed.1.',
  'runtime/session/runs/run#giveBack.then.1': 'As runtime/session/submissions#admitClaimed.1.',
  'runtime/session/runs/run#orRefused.then.1': 'As runtime/session/submissions#admitClaimed.1.',
  'runtime/session/runs/runs#persistWaiting.then.1':
    'As runtime/session/submissions#admitClaimed.1.',
  'runtime/session/upkeep/after-run#settleDay.1':
    'No principal of the campaign has a limit of the day (workers/day-pieces.workers.test.ts).',
  'runtime/session/session#setAlarm.1':
    'The pushed-out alarm of a loop of wakes: 600 alarms a minute at the pace of the harness (unit/session/wake-loop.test.ts).',
  'runtime/session/upkeep/incidents#rang.1': 'As runtime/session/session#setAlarm.1.',
  'runtime/session/upkeep/incidents#rang.2': 'As runtime/session/session#setAlarm.1.',
  'runtime/session/upkeep/recovery#isKnownAbove.1':
    'Asked when a child was not used for ninety days (unit/session/ending.test.ts).',
  'runtime/session/upkeep/timers#push.2':
    'A timer without a row is moved to an earlier time; in the harness the recovery alarm (500 ms) makes rows of all timers before the record is carried (1 s) (unit/session/timers.test.ts).',
}

/** Timing decides, or a fault does, whether these are reached. */
export const chance = {
  'runtime/session/waiting/outcome-runs#beginByOutcome.5':
    'Looks again for the run, where another delivery may have begun it meanwhile.',
  'runtime/session/entry/converse#viewOf.2':
    'The view of a run is older than the event of its end.',
  'runtime/session/gateway#call.2': 'The second try of a read whose object broke.',
  'runtime/session/session#plain.1': 'The first call of an object that was put out of memory.',
}
