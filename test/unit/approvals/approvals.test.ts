import { describe, expect, it } from 'vitest'
import type { ApprovalRule } from '../../../src/runtime/session/types/approval.ts'
import type { SessionEvent } from '../../../src/contracts/event.ts'
import { saidLabel } from '../../../src/contracts/label.ts'
import { createApprovalInbox } from '../../../src/features/approvals/store/approval-inbox.ts'
import { createApprovalRules } from '../../../src/features/approvals/store/approval-rules.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { storedEvent } from '../../fakes/events.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

const owner = { session: 'ses_a', principal: 'ann', sinceMs: 1 }
const ops = { principal: 'ops', role: 'operator', via: 'inbox' } as const
const place = (seq: number, run = 'run_1') => {
  return { seq, run, agent: 'writer', trace: 'aa', atMs: 1_000 + seq }
}
const started = (seq: number) =>
  storedEvent({ ...place(seq), type: 'run_started', data: { principal: 'ann', depth: 0 } })
const parked = (seq: number, calls: readonly string[] = ['call_1']): SessionEvent =>
  storedEvent({
    ...place(seq),
    type: 'run_parked',
    data: {
      pauses: calls.map((call) => ({
        call,
        tool: 'mail__send',
        kind: 'approval',
        label: saidLabel,
        approval: {
          id: `apr_${call}`,
          approver: 'operator',
          asker: { principal: 'ann', agent: 'writer', session: 'ses_a', run: 'run_1' },
          reason: 'label',
          rule: 'deployment: ask',
          sinks: ['message'],
          isDestructive: false,
          argsHash: 'hash',
          shape: 'shape',
        },
      })),
    },
  })
const answered = (seq: number, answer: string, call = 'call_1'): SessionEvent =>
  storedEvent({
    ...place(seq),
    type: 'pause_answered',
    data: {
      call,
      tool: 'mail__send',
      kind: 'approval',
      argsHash: 'hash',
      answer,
      ...(answer !== 'tool_expired' && { decidedBy: ops }),
    },
  })
const finished = (seq: number) =>
  storedEvent({ ...place(seq), type: 'run_finished', data: { state: 'cancelled' } })

function open() {
  const { database, sqlite } = createSqliteDatabase()
  const clock = { nowMs: () => 5_000 }
  return {
    sqlite,
    sink: createAuditSink(database),
    inbox: createApprovalInbox(database, clock),
    rules: createApprovalRules(database, clock),
  }
}
const stateOf = async ({ inbox }: Pick<ReturnType<typeof open>, 'inbox'>, id = 'apr_call_1') =>
  (await inbox.find(id))?.state

describe('the inbox', () => {
  it('E6: has a call as soon as the record says that it waits, and what became of it', async () => {
    const world = open()
    const { sink, inbox } = world
    await sink.append(owner, batchOf([started(1), parked(2, ['call_1', 'call_2', 'call_3'])]))
    const { entries } = await inbox.list({ state: 'open', limit: 10 })
    expect(entries).toHaveLength(3)
    expect(entries.find(({ call }) => call === 'call_1')).toEqual({
      id: 'apr_call_1',
      state: 'open',
      session: 'ses_a',
      run: 'run_1',
      call: 'call_1',
      principal: 'ann',
      agent: 'writer',
      tool: 'mail__send',
      approver: 'operator',
      argsHash: 'hash',
      shape: 'shape',
      label: saidLabel,
      reason: 'label',
      rule: 'deployment: ask',
      atMs: 1_002,
    })
    await sink.append(
      owner,
      batchOf([answered(3, 'approved'), answered(4, 'tool_expired', 'call_2')]),
    )
    await sink.append(owner, batchOf([finished(5)]))
    expect(await inbox.find('apr_call_1')).toMatchObject({
      state: 'approved',
      decidedBy: ops,
      decidedAtMs: 1_003,
    })
    expect(await stateOf(world, 'apr_call_2')).toBe('expired')
    expect(await stateOf(world, 'apr_call_3')).toBe('ended')
  })

  it('I10: is the same though a batch comes twice, or late', async () => {
    const world = open()
    const { sink, inbox } = world
    await sink.append(owner, batchOf([started(1), parked(2)]))
    await sink.append(owner, batchOf([started(1), parked(2), answered(3, 'tool_denied')]))
    await sink.append(owner, batchOf([started(1), parked(2)]))
    expect(await stateOf(world)).toBe('denied')
    expect((await inbox.list({ limit: 10 })).entries).toHaveLength(1)
    // The same call asks again, with other arguments or after a change of its tool.
    await sink.append(owner, batchOf([parked(4)]))
    expect(await stateOf(world)).toBe('open')
  })

  it('takes out what was decided before the record says so, and believes the record', async () => {
    const world = open()
    const { sink, inbox } = world
    await sink.append(owner, batchOf([started(1), parked(2)]))
    const at = { session: 'ses_a', run: 'run_1', call: 'call_1' }
    await inbox.mark({ ...at, state: 'approved', decidedBy: ops })
    expect(await stateOf(world)).toBe('approved')
    await sink.append(owner, batchOf([answered(3, 'tool_denied')]))
    await inbox.mark({ ...at, state: 'approved', decidedBy: ops })
    expect(await stateOf(world)).toBe('denied')
  })

  it('has no row and no statement for runs without an approval, and pages and narrows what it has', async () => {
    const { sink, inbox, sqlite } = open()
    await sink.append(owner, batchOf([started(1), finished(2)]))
    expect(sqlite.prepare('SELECT count(*) AS rows FROM approvals').get()).toEqual({ rows: 0 })
    await sink.append(owner, batchOf([parked(3, ['call_1', 'call_2', 'call_3'])]))
    const first = await inbox.list({ state: 'open', limit: 2 })
    const second = await inbox.list({ state: 'open', limit: 2, after: first.next! })
    expect([...first.entries, ...second.entries].map(({ call }) => call)).toEqual([
      'call_3',
      'call_2',
      'call_1',
    ])
    expect(second.next).toBeUndefined()
    for (const more of [{ agent: 'x' }, { principal: 'x' }, { tool: 'x' }, { session: 'x' }])
      expect((await inbox.list({ limit: 10, ...more })).entries).toEqual([])
  })
})

describe('the rules of approvals', () => {
  const rule: ApprovalRule = {
    id: 'rul_1',
    principal: 'ann',
    agent: 'writer',
    tool: 'mail__send',
    definitionHash: 'v1',
    session: 'ses_a',
    free: { body: 'string' },
    shape: 'hash',
    label: saidLabel,
    decidedBy: ops,
    createdAtMs: 1,
    expiresAtMs: 6_000,
  }

  it('E6: are of one principal and tool, once, until their time is over or they are revoked', async () => {
    const { rules, sqlite } = open()
    const { session: _session, ...everywhere } = rule
    await rules.add(rule)
    await rules.add(rule)
    await rules.add({ ...everywhere, id: 'rul_2', createdAtMs: 2 })
    await rules.add({ ...rule, id: 'rul_3', expiresAtMs: 5_000 })
    const held = await rules.of('ann', 'mail__send')
    expect(held.map(({ id }) => id).toSorted()).toEqual(['rul_1', 'rul_2'])
    expect(await rules.of('bob', 'mail__send')).toEqual([])
    expect(await rules.list({ principal: 'ann', limit: 1 })).toEqual([
      { ...everywhere, id: 'rul_2', createdAtMs: 2 },
    ])
    const by = { principal: 'ann', trace: 'aa', requestId: 'req_1' }
    expect(await rules.revoke('rul_1', by, 'bob')).toBe(false)
    expect(await rules.revoke('rul_1', by, 'ann')).toBe(true)
    expect((await rules.list({ limit: 10 })).map(({ id }) => id)).toEqual(['rul_2'])
    // The same rule is added once more: a revoked rule stays revoked.
    await rules.add(rule)
    expect((await rules.list({ limit: 10 })).map(({ id }) => id)).toEqual(['rul_2'])
    expect(await rules.revoke('rul_1', by, 'ann')).toBe(false)
    expect(await rules.revoke('rul_3', by)).toBe(false)
    expect(await rules.revoke('rul_none', by)).toBe(false)
    expect(await rules.revoke('rul_2', { ...by, principal: 'ops' })).toBe(true)
    // Each revocation is on the record once, with its principal; a revocation of nothing is not.
    const told = sqlite.prepare('SELECT type, principal, trace, data FROM audit ORDER BY seq').all()
    expect(told.map((row) => ({ ...row, data: JSON.parse(String(row['data'])) }))).toEqual([
      {
        type: 'approval_rule_revoked',
        principal: 'ann',
        trace: 'aa',
        data: {
          rule: 'rul_1',
          owner: 'ann',
          agent: 'writer',
          tool: 'mail__send',
          scope: 'session',
          request: 'req_1',
        },
      },
      expect.objectContaining({
        principal: 'ops',
        data: expect.objectContaining({ rule: 'rul_2', owner: 'ann', scope: 'rule' }),
      }),
    ])
  })

  it('E6: of a session end with it, as does what waits there', async () => {
    const { rules, sink, inbox } = open()
    await sink.append(owner, batchOf([started(1), parked(2)]))
    await rules.add(rule)
    await sink.unlist(owner)
    expect(await rules.of('ann', 'mail__send')).toEqual([])
    expect(await inbox.find('apr_call_1')).toBeUndefined()
  })
})
