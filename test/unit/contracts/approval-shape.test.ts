import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  mayApprove,
  type ApprovalRule,
  type AskedCall,
  type AskedFor,
  canonical,
  covers,
  freeFields,
  isNoWorse,
  isOutdated,
  likenessOf,
  shapeOf,
} from '../../../src/runtime/session/types/approval.ts'
import { joinLabels, labelFrom, saidLabel, type Label } from '../../../src/contracts/label.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const page = labelFrom('http__get docs.example.com', { confidentiality: 'public' })
const input = { to: 'ann@example.com', subject: 'Hello', body: 'Text' }
const asked = { reason: 'destructive', sinks: ['message'], isDestructive: true } as const
const call: AskedCall & AskedFor = {
  ...asked,
  principal: 'ann',
  agent: 'writer',
  tool: 'mail__send',
  definitionHash: 'v1',
  rootSession: 'ses_1',
  input,
  label: saidLabel,
}
function rule(free: readonly string[] = [], more: Partial<ApprovalRule> = {}): ApprovalRule {
  const types = freeFields(input, free)!
  return {
    id: 'rul_1',
    principal: 'ann',
    agent: 'writer',
    tool: 'mail__send',
    definitionHash: 'v1',
    free: types,
    shape: shapeOf(input, { free: types, ...asked }, sha256),
    label: saidLabel,
    decidedBy: { principal: 'ann', role: 'user', via: 'session' },
    createdAtMs: 0,
    expiresAtMs: 1_000,
    ...more,
  }
}
const now = { approver: 'owner', nowMs: 0, sha256 } as const

describe('whose yes counts', () => {
  it.each([
    ['owner', 'ann', 'user', true],
    ['owner', 'bob', 'user', false],
    ['owner', 'bob', 'author', false],
    ['owner', 'ops', 'operator', true],
    ['operator', 'ann', 'user', false],
    ['operator', 'ann', 'author', false],
    ['operator', 'ann', 'auditor', false],
    ['operator', 'ops', 'operator', true],
    ['author', 'ann', 'user', false],
    ['author', 'bob', 'author', true],
  ] as const)('E6: of %s, said by %s (%s): %j', (approver, principal, role, may) => {
    expect(mayApprove(approver, { principal, role }, 'ann')).toBe(may)
  })
})

describe('the label of a rule', () => {
  it('T11: covers the same and better ones, and no worse one in any part of it', () => {
    const both = joinLabels([saidLabel, page])
    expect(isNoWorse(saidLabel, saidLabel)).toBe(true)
    expect(isNoWorse(saidLabel, both)).toBe(true)
    expect(isNoWorse(both, both)).toBe(true)
    expect(isNoWorse(both, saidLabel)).toBe(false)
    const other = labelFrom('http__get evil.example', { confidentiality: 'public' })
    expect(isNoWorse(joinLabels([both, other]), both)).toBe(false)
    expect(isNoWorse({ ...both, confidentiality: 'private' }, both)).toBe(false)
    expect(isNoWorse(undefined, both)).toBe(false)
  })

  it('T11: covers nothing where sources were too many to name', () => {
    const many = joinLabels(Array.from({ length: 20 }, (_, index) => labelFrom(`t${index}`)))
    expect(isNoWorse(many, many)).toBe(false)
    const hidden: Label = joinLabels([labelFrom('t19')])
    expect(isNoWorse(hidden, many)).toBe(false)
  })
})

describe('a rule of an approval', () => {
  it('E6: covers the arguments that were approved, in whatever order their fields come', () => {
    const { to, subject, body } = input
    expect(covers(rule(), call, now)).toBe(true)
    expect(covers(rule(), { ...call, input: { body, subject, to } }, now)).toBe(true)
    for (const changed of [
      { ...input, body: 'Text.' },
      { ...input, cc: 'x' },
      { to, subject },
    ])
      expect(covers(rule(), { ...call, input: changed }, now)).toBe(false)
  })

  it('E6: leaves free what was freed, and only of its type', () => {
    const freed = rule(['body'])
    expect(covers(freed, { ...call, input: { ...input, body: 'Other' } }, now)).toBe(true)
    const { body: _body, ...without } = input
    for (const changed of [
      { ...input, to: 'eve@example.com' },
      { ...input, body: 'Other', cc: 'eve@example.com' },
      { ...input, body: { html: 'Other' } },
      { ...input, body: null },
      without,
    ])
      expect(covers(freed, { ...call, input: changed }, now)).toBe(false)
    expect(freeFields(input, ['cc'])).toBeUndefined()
  })

  it.each([
    ['of another principal', { principal: 'bob' }],
    ['of another agent', { agent: 'reader' }],
    ['of another tool', { tool: 'mail__draft' }],
    ['of a tool that was changed', { definitionHash: 'v2' }],
    ['of which nothing is known of its tool', { definitionHash: undefined }],
    ['behind a worse label', { label: joinLabels([saidLabel, page]) }],
    ['behind no known label', { label: undefined }],
  ])('T11: covers no call %s', (_what, more) => {
    expect(covers(rule(), { ...call, ...more }, now)).toBe(false)
  })

  it('T14: ends with the version of its tool, and is known for that only where it was about the call', () => {
    const changed = { ...call, definitionHash: 'v2' }
    expect(covers(rule(), changed, now)).toBe(false)
    expect(isOutdated(rule(), changed, now)).toBe(true)
    expect(isOutdated(rule(), call, now)).toBe(false)
    for (const other of [
      { principal: 'bob' },
      { agent: 'reader' },
      { tool: 'mail__draft' },
      { label: joinLabels([saidLabel, page]) },
    ])
      expect(isOutdated(rule(), { ...changed, ...other }, now)).toBe(false)
    expect(isOutdated(rule(), changed, { ...now, nowMs: 1_000 })).toBe(false)
    expect(isOutdated(rule(), changed, { ...now, approver: 'operator' })).toBe(false)
  })

  it('T14: covers no call of a tool that destroys by now, whatever it was asked about for', () => {
    const about = { reason: 'label', sinks: ['message'], isDestructive: false } as const
    const mild = rule([], { shape: shapeOf(input, { free: {}, ...about }, sha256) })
    expect(covers(mild, { ...call, ...about }, now)).toBe(true)
    expect(covers(mild, { ...call, ...about, isDestructive: true }, now)).toBe(false)
    expect(covers(mild, { ...call, ...about, sinks: ['message', 'egress'] }, now)).toBe(false)
  })

  it('E6: holds in its session and below, until its time is over, and while its decider may still approve', () => {
    const here = rule([], { session: 'ses_1' })
    expect(covers(here, call, now)).toBe(true)
    expect(covers(here, { ...call, rootSession: 'ses_2' }, now)).toBe(false)
    expect(covers(rule(), call, { ...now, nowMs: 999 })).toBe(true)
    expect(covers(rule(), call, { ...now, nowMs: 1_000 })).toBe(false)
    const byOperator = { ...now, approver: 'operator' } as const
    expect(covers(rule(), call, byOperator)).toBe(false)
    const decidedBy = { principal: 'ops', role: 'operator', via: 'inbox' } as const
    expect(covers(rule([], { decidedBy }), call, byOperator)).toBe(true)
  })
})

describe('calls that are alike', () => {
  it('have one tool, fields of the same types and one label', () => {
    const shape = likenessOf(call, sha256)
    const other = { to: 'bob@example.com', subject: 'Hi', body: 'Other' }
    expect(likenessOf({ ...call, principal: 'bob', input: other }, sha256)).toBe(shape)
    for (const more of [
      { tool: 'mail__draft' },
      { input: { ...input, cc: 'x' } },
      { input: { ...input, body: 1 } },
      { label: joinLabels([saidLabel, page]) },
    ])
      expect(likenessOf({ ...call, ...more }, sha256)).not.toBe(shape)
  })

  it('are written the same way at every depth', () => {
    expect(canonical({ b: [{ d: 1, c: null }], a: 'x' })).toBe('{"a":"x","b":[{"c":null,"d":1}]}')
  })
})
