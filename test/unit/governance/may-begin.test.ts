import { expect, it } from 'vitest'
import type { KeyView, Rights } from '../../../src/contracts/keys.ts'
import { createMayBegin } from '../../../src/governance/may-begin.ts'

const nowMs = 1_790_000_000_000
const key = (more: Partial<KeyView>): KeyView => ({
  id: 'key_1',
  principal: 'alice',
  role: 'user',
  hint: 'isk_abc',
  createdAtMs: 0,
  ...more,
})
const open = (found: KeyView | undefined, rights?: Rights) =>
  createMayBegin({
    keys: { find: async () => found, rightsOf: async () => rights },
    clock: { nowMs: () => nowMs },
  })
const asked = { principal: 'alice', key: 'key_1', agent: 'orchestrator', model: 'large' }
const person = { principal: 'alice', agent: 'orchestrator' }

it('I26: a run may begin while the key it was asked with opens something', async () => {
  expect(await open(key({}))(asked)).toBe(true)
  expect(await open(key({ agents: ['orchestrator'] }))(asked)).toBe(true)
  expect(await open(key({ models: ['openai/large'] }))(asked)).toBe(true)
  expect(await open(undefined)({ principal: 'operator', agent: 'orchestrator' })).toBe(true)
  expect(await open(undefined)(person)).toBe(true)
})

it.each<[string, KeyView | undefined]>([
  ['is not there', undefined],
  ['was revoked', key({ revokedAtMs: 1 })],
  ['expired', key({ expiresAtMs: nowMs })],
  ['may not talk to this agent any more', key({ agents: ['other'] })],
  ['may not name this model any more', key({ models: ['openai/small'] })],
])('T1: none begins for a key that %s', async (_what, found) => {
  expect(await open(found)(asked)).toBe(false)
})

it('T1: none begins with an agent that a person without a key may not talk to any more', async () => {
  expect(await open(undefined, { role: 'user', agents: ['other'] })(person)).toBe(false)
})
