import { expect, test } from 'vitest'
import { defaultAgentLimits } from '#contracts/default-limits.ts'
import type { Lineage } from '#runtime/session/types/lineage.ts'
import { sharedIn } from '#contracts/shared-parts.ts'

const lineage: Lineage = {
  rootSession: 'ses_root',
  parentSession: 'ses_above',
  parentRun: 'run_above',
  parentCall: 'call_above',
  depth: 2,
  ancestry: ['orchestrator', 'above'],
  lease: defaultAgentLimits,
}

test('N5: a session that hangs below none has nothing of another', () => {
  expect(sharedIn(undefined)).toBeUndefined()
})

test('N5: a sub-agent has what its caller gave it', () => {
  const shared = { workspace: 'ses_above' }
  expect(sharedIn({ ...lineage, shared })).toEqual(shared)
  expect(sharedIn({ ...lineage, shared: {} })).toEqual({})
})

test('N5: F33: one that an older version began goes on with all of it at the root of its tree', () => {
  expect(sharedIn(lineage)).toEqual({
    workspace: 'ses_root',
    memory: 'ses_root',
    storage: 'ses_root',
  })
})
