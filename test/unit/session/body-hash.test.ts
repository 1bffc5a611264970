import { describe, expect, it } from 'vitest'
import { runOptionFields } from '../../../src/runtime/session/types/submission.ts'
import type { Submission } from '#runtime/session/types/submission.ts'
import { bodyHashOf } from '../../../src/runtime/session/runs/admission.ts'
import { sha256 } from '../../fakes/kernel.ts'

/** Every option, and whatever a retry may send anew; the order is a surface's. */
const everything = {
  principal: 'user:ada',
  key: 'key_1',
  grant: 'grant_1',
  dayLimits: { tokens: 9 },
  trace: 't1',
  traceLink: { isSampled: true },
  idempotencyKey: 'k1',
  messages: [{ role: 'user', text: 'Go.', taint: ['user'] }],
  clientInstructions: 'Be brief.',
  model: 'openai/gpt',
  parameters: { temperature: 0, toolChoice: { tool: 'a' } },
  limits: { maxTokens: 5 },
  pauses: 'park',
  requireApproval: ['kv__*'],
  clientTools: [{ name: 'a', description: 'A.', inputSchema: { type: 'object' } }],
  mayAsk: true,
  directCall: { tool: 'kv__get', input: { key: 'a' } },
  isStateless: true,
  echo: { store: false },
  agent: 'orchestrator',
} as unknown as Submission
/** With what came later. */
const chain = { cause: 'ses_1:3', depth: 1, via: [], maxDepth: 4, expiresAtMs: 9 }
const onDemand = { keepMs: 1 } as NonNullable<Submission['onDemand']>
const later = { compact: 'session', persona: 'concise', isNote: true, chain, onDemand } as const
const today = { ...everything, ...later }
const child = {
  pauses: 'refuse',
  requireApproval: ['mail'],
  principal: 'user:ada',
  messages: [{ role: 'user', text: 'Sum up.', taint: ['model'] }],
  trace: 't1',
  idempotencyKey: 'call_1_0_ab',
  lineage: { depth: 1 },
  agent: 'helper',
} as unknown as Submission
const hashOf = (submission: Submission) => bodyHashOf(submission, sha256)

describe('the body that an idempotency key stands for', () => {
  it('stays the same, so that a retry after an upgrade joins its run', () => {
    expect(hashOf(everything)).toBe(
      'a0284ca345a124aa15f5bd9be757167dc84e3fd3fb9f33cfef8bc68e338c61a1',
    )
    expect(hashOf(child)).toBe('79f0a7e7c48b6eb7a47892c7746f3d161a7c880f2c7b97a7510aa76883323a29')
  })

  it.each(Object.entries(runOptionFields))(
    'has the option %s if its line says so',
    (name, rule) => {
      const { [name as keyof Submission]: _gone, ...without } = today
      expect(hashOf(without as Submission) !== hashOf(today)).toBe(rule.isHashed)
    },
  )

  it('is the same for a retry with another trace, key and lease', () => {
    const lineage = { depth: 2 } as unknown as NonNullable<Submission['lineage']>
    const retried = { ...everything, trace: 't2', key: 'key_2', lineage }
    expect(hashOf(retried)).toBe(hashOf(everything))
  })
})
