// Protections of runs that an outcome begins; as in switches.mjs.

const outcomeRuns = 'test/unit/switched/outcome-runs.test.ts'
const mayBegin = 'test/unit/governance/may-begin.test.ts'

const of = (file, tests, entries, project = 'unit') =>
  entries.map((entry) => ({ file, tests, project, ...entry }))

export const outcomes = [
  ...of(
    'src/sessions/waiting/outcome-runs.ts',
    [outcomeRuns],
    [
      {
        name: 'outcome-run-once',
        what: 'F31: an outcome begins one run, however often it is delivered',
        find: 'under: outcomeKey(id, call),',
        replace: '',
      },
      {
        name: 'outcome-runs-in-a-row',
        what: 'E1: runs that outcomes begin end by themselves, however many come at once',
        find: 'return begunInARow(store) < maxOutcomeRuns',
        replace: 'return true',
      },
      {
        name: 'outcome-runs-side-by-side',
        what: 'E1: outcomes that are about to begin a run count as those that have',
        find: 'let count = store.pending.count()',
        replace: 'let count = 0',
      },
      {
        name: 'outcome-run-there',
        what: 'F31: an outcome whose run is there is no note besides, whatever has ended since',
        find: 'return store.findRun(id) !== undefined',
        replace: 'return false',
      },
      {
        name: 'outcome-run-deleting',
        what: 'E8: no run begins in a session that is being deleted',
        find: "if (isDeleting()) throw new IsolaError('request_conflict', 'The session is being deleted.')",
        replace: '',
      },
      {
        name: 'outcome-run-deleted-meanwhile',
        what: 'E8: an outcome does not hold up a deletion that began while its run did',
        find: 'if (!isDeleting() && (code === undefined || passing.has(code))) throw error',
        replace: 'if (code === undefined || passing.has(code)) throw error',
      },
      {
        name: 'outcome-run-first-call',
        what: 'a tool that the run was made to call is not called again by those it begins',
        find: '...(parameters && { parameters: afterFirstCall(parameters) }),',
        replace: '...(parameters && { parameters }),',
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
        name: 'outcome-run-again',
        what: 'F7: a run that cannot be begun just now is tried again',
        find: 'if (!isDeleting() && (code === undefined || passing.has(code))) throw error',
        replace: 'if (!isDeleting() && code === undefined) throw error',
      },
    ],
  ),
  ...of(
    'src/sessions/runs/run-limits.ts',
    [outcomeRuns],
    [
      {
        name: 'outcome-run-limits',
        what: 'E1: limits of the run that was asked for hold for it and all that outcomes begin together',
        find: 'begunBy ? leftOfFirst(row, options) : onlyLimited(limits)',
        replace: 'onlyLimited(limits)',
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
        find: "return key && stateOf(key, clock.nowMs()) === 'active' ? key : undefined",
        replace: 'return key',
      },
      {
        name: 'outcome-run-sign-in',
        what: 'T1: a sign-in that has ended begins no run',
        find: 'if (grantId !== undefined && !(grant && holds(grant, principal, clock.nowMs()))) return false',
        replace: '',
      },
      {
        name: 'outcome-run-role',
        what: 'T1: who may not talk to agents any more begins no run',
        find: 'if (!rights || !mayTalk(rights, grant)) return false',
        replace: 'if (!rights) return false',
      },
      {
        name: 'outcome-run-unknown',
        what: 'T1: what cannot be looked up begins no run',
        find: 'return person && ((await keys.rightsOf(principal)) ?? person)',
        replace: "return (await keys.rightsOf(principal)) ?? person ?? { role: 'user' }",
      },
      {
        name: 'outcome-run-agent',
        what: 'T1: a run begins only with an agent that its principal may talk to now',
        find: 'return rights.agents?.includes(agent) !== false && mayName(rights, model, fullNameOf)',
        replace: 'return mayName(rights, model, fullNameOf)',
      },
    ],
  ),
]
