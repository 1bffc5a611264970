// Protections of runs that an outcome begins; as in switches.mjs.

const outcomeRuns = 'test/unit/switched/outcome-runs.test.ts'
const mayBegin = 'test/unit/governance/may-begin.test.ts'

const of = (file, tests, entries, project = 'unit') =>
  entries.map((entry) => ({ file, tests, project, ...entry }))

export const outcomes = [
  ...of(
    'src/sessions/outcome-runs.ts',
    [outcomeRuns],
    [
      {
        name: 'outcome-run-once',
        what: 'F31: an outcome begins one run, however often it is delivered',
        find: 'idempotencyKey: `outcome:${row.id}:${call}`,',
        replace: '',
      },
      {
        name: 'outcome-run-depth',
        what: 'E1: runs that outcomes begin end by themselves',
        find: 'return (begunBy?.depth ?? 0) < maxOutcomeRuns',
        replace: 'return true',
      },
      {
        name: 'outcome-run-cancelled',
        what: 'E8: what was cancelled begins nothing any more',
        find: "if (onOutcome !== 'run' || !final || final.state === 'cancelled') return false",
        replace: "if (onOutcome !== 'run' || !final) return false",
      },
      {
        name: 'outcome-run-place',
        what: 'E1: no run begins where nobody would look',
        find: 'if (lineage || isStateless || directCall || after || echo) return false',
        replace: '',
      },
      {
        name: 'outcome-run-rights',
        what: 'T1: no run begins for somebody who may not any more',
        find: 'if (!(await runtime.mayBegin(row.submission)))',
        replace: 'if (false)',
      },
      {
        name: 'outcome-run-limits',
        what: 'E1: limits of the run that started the work hold for what it begins',
        find: '...(limits && { limits: leftBy(row, onlyLimited(limits), store) }),',
        replace: '...(limits && { limits }),',
      },
      {
        name: 'outcome-run-again',
        what: 'F7: a run that cannot be begun just now is tried again',
        find: 'if (code === undefined || passing.has(code)) throw error',
        replace: 'if (code === undefined) throw error',
      },
    ],
  ),
  ...of(
    'src/governance/may-begin.ts',
    [mayBegin],
    [
      {
        name: 'outcome-run-key',
        what: 'T1: a key that has ended begins no run',
        find: "if (id !== undefined && (!key || stateOf(key, clock.nowMs()) !== 'active')) return false",
        replace: '',
      },
      {
        name: 'outcome-run-agent',
        what: 'T1: a run begins only with an agent that its principal may talk to now',
        find: 'rights?.agents?.includes(agent) !== false && mayName(rights, model)',
        replace: 'mayName(rights, model)',
      },
    ],
  ),
]
