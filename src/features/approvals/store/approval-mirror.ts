import { defined } from '#contracts/defined.ts'
import type { ApprovalEntry } from '#runtime/session/types/approval.ts'
import type { AuditOwner } from '#runtime/session/types/audit-sink.ts'
import type { EventData, SessionEvent } from '#contracts/event.ts'
import { joinLabels } from '#contracts/label.ts'
import type { Database, Statement } from '#platform/d1/database.ts'

/** What one batch of events says about one call. Without `asked` the call began to wait in an earlier batch. */
interface Said {
  readonly run: string
  readonly call: string
  readonly asked?: Omit<ApprovalEntry, 'state' | 'session' | 'principal' | 'run' | 'call'>
  readonly state: ApprovalEntry['state']
  readonly decidedBy?: ApprovalEntry['decidedBy']
  readonly decidedAtMs?: number
  readonly seq: number
}

// A repeated or late batch changes nothing; a call that asks again waits again.
const insert = `
  INSERT INTO approvals (id, session, since_ms, run, call, principal, agent, tool, approver, args_hash, shape, label,
    reason, rule, at_ms, state, decided_by, decided_at_ms, seq)
  SELECT value->'asked'->>'id', ?1, ?2, value->>'run', value->>'call', ?3, value->'asked'->>'agent',
    value->'asked'->>'tool', value->'asked'->>'approver', value->'asked'->>'argsHash', value->'asked'->>'shape',
    value->'asked'->'label', value->'asked'->>'reason', value->'asked'->>'rule',
    value->'asked'->>'atMs', value->>'state', value->'decidedBy', value->>'decidedAtMs', value->>'seq'
  FROM json_each(?4) WHERE true
  ON CONFLICT (id) DO UPDATE SET
    since_ms = excluded.since_ms, principal = excluded.principal, agent = excluded.agent, tool = excluded.tool,
    approver = excluded.approver, args_hash = excluded.args_hash, shape = excluded.shape, label = excluded.label,
    reason = excluded.reason, rule = excluded.rule, at_ms = excluded.at_ms,
    state = excluded.state, decided_by = excluded.decided_by, decided_at_ms = excluded.decided_at_ms,
    seq = excluded.seq
  WHERE (excluded.since_ms, excluded.seq) > (approvals.since_ms, approvals.seq)`

const update = `
  UPDATE approvals SET state = said.value->>'state', decided_by = said.value->'decidedBy',
    decided_at_ms = said.value->>'decidedAtMs', seq = said.value->>'seq'
  FROM json_each(?3) AS said
  WHERE approvals.session = ?1 AND approvals.since_ms = ?2 AND approvals.run = said.value->>'run'
    AND approvals.call = said.value->>'call' AND approvals.seq < said.value->>'seq'`

const close = `
  UPDATE approvals SET state = 'ended', seq = said.value->>'seq'
  FROM json_each(?3) AS said
  WHERE approvals.session = ?1 AND approvals.since_ms = ?2 AND approvals.run = said.value->>'run'
    AND approvals.state = 'open' AND approvals.seq < said.value->>'seq'`

/**
 * The statements that bring the inbox up to date with a batch of events, to be committed with it; none for runs
 * without approvals. A run that begins in the batch has no rows in the inbox yet.
 */
export function mirrorApprovals(
  database: Database,
  { session, sinceMs, principal }: AuditOwner,
  events: readonly SessionEvent[],
): readonly Statement[] {
  const said = [...saidIn(events).values()]
  const begun = new Set(events.flatMap(({ type, run }) => (type === 'run_started' ? [run] : [])))
  const asking = new Set(said.map(({ run }) => run))
  const over = events.flatMap(({ type, run, seq }) =>
    type === 'run_finished' && (!begun.has(run) || asking.has(run)) ? [{ run, seq }] : [],
  )
  const fresh = said.filter(({ asked }) => asked !== undefined)
  const known = said.filter(({ asked }) => asked === undefined)
  const bind = (sql: string, rows: readonly unknown[], ...more: readonly string[]) =>
    rows.length === 0
      ? []
      : [database.prepare(sql).bind(session, sinceMs, ...more, JSON.stringify(rows))]
  return [...bind(insert, fresh, principal), ...bind(update, known), ...bind(close, over)]
}

function saidIn(events: readonly SessionEvent[]): ReadonlyMap<string, Said> {
  const said = new Map<string, Said>()
  for (const { run, agent, atMs, seq, ...event } of events) {
    if (event.type === 'run_parked')
      for (const pause of event.data.pauses ?? []) {
        const { call, tool, approval, label } = pause
        if (!approval) continue
        const key = `${run} ${call}`
        const { argsHash } = approval
        // A run that is parked again with the same call has waited since the first time.
        const before = said.get(key)?.asked
        const atFirst = before?.argsHash === argsHash ? before.atMs : atMs
        const { id, approver, reason, rule, shape } = approval
        const more = { approver, reason, rule, shape, label: joinLabels([label]) }
        const asked = { id, agent, tool, argsHash, atMs: atFirst, ...more }
        said.set(key, { run, call, asked, state: 'open', seq })
      }
    if (event.type === 'pause_answered' && event.data.kind === 'approval') {
      const { call, answer, decidedBy } = event.data
      const key = `${run} ${call}`
      const asked = said.get(key)?.asked
      const decided = { ...defined({ decidedBy }), decidedAtMs: atMs }
      const state = stateOf(answer)
      said.set(key, { run, call, ...defined({ asked }), state, ...decided, seq })
    }
  }
  return said
}

function stateOf(answer: EventData<'pause_answered'>['answer']): ApprovalEntry['state'] {
  if (answer === 'approved') return 'approved'
  return answer === 'tool_expired' ? 'expired' : 'denied'
}

/** The statements that delete a session's rows from the inbox, and the rules that hold in it alone. */
export const forgetApprovals = (
  database: Database,
  { session, sinceMs }: Pick<AuditOwner, 'session' | 'sinceMs'>,
): readonly Statement[] => [
  database
    .prepare('DELETE FROM approvals WHERE session = ?1 AND since_ms <= ?2')
    .bind(session, sinceMs),
  database.prepare('DELETE FROM approval_rules WHERE session = ?1').bind(session),
]
