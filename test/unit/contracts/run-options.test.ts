import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { OnDemandAgent } from '#contracts/manifest/agent-definition.ts'
import {
  runOptionFields,
  toInherited,
  toRunOptions,
} from '../../../src/runtime/session/types/submission.ts'

const source = readFileSync(
  join(import.meta.dirname, '../../../src/contracts/run-options.ts'),
  'utf8',
)
const [, fields = ''] = /export interface RunOptions \{\n([^]*?)\n\}/.exec(source) ?? []
const declared = [...fields.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => name)

const onDemandDefinition = {} as OnDemandAgent['definition']
const everything = {
  model: 'openai/gpt',
  parameters: { temperature: 0 },
  clientInstructions: 'Be brief.',
  persona: 'concise',
  limits: { maxTokens: 5 },
  pauses: 'park',
  requireApproval: ['kv__*'],
  clientTools: [{ name: 'a', description: 'A.', inputSchema: { type: 'object' } }],
  bringsAll: true,
  mayAsk: true,
  mayRaise: true,
  directCall: { tool: 'kv__get', input: { key: 'a' } },
  compact: 'session',
  isNote: true,
  chain: { cause: 'ses_1:3', depth: 1, via: ['sub_1'], maxDepth: 4, expiresAtMs: 9 },
  mayHandOff: true,
  holds: {
    maxMessages: 1,
    maxTokens: 1,
    maxCostNanoUsd: 1,
    timeoutMs: 1,
    monitor: 'rule',
    input: 'task',
  },
  onDemand: {
    definition: onDemandDefinition,
    version: 0,
    hash: 'a',
    granted: [],
    keepMs: 1,
  },
  origin: 'api',
  key: 'key_1',
  grant: 'grant_1',
} as const

describe('the options of a run', () => {
  it('have a line each that says what is hashed and what is inherited', () => {
    expect(declared.length).toBeGreaterThan(0)
    expect(new Set(Object.keys(runOptionFields))).toEqual(new Set(declared))
    expect(new Set(Object.keys(everything))).toEqual(new Set(declared))
  })

  it('are taken whole out of what has them among other fields', () => {
    const submission = { ...everything, principal: 'user:ada', trace: 't', model: undefined }
    const { model: _absent, ...rest } = everything
    expect(toRunOptions(submission as unknown as typeof everything)).toEqual(rest)
  })

  it('leave a child what protects and where it all began, and nothing that was for their agent', () => {
    expect(toInherited(everything)).toEqual({
      pauses: 'park',
      requireApproval: ['kv__*'],
      chain: everything.chain,
      origin: 'api',
      key: 'key_1',
      grant: 'grant_1',
    })
  })

  it.each([undefined, 'refuse', 'client_tools'] as const)(
    'let a child wait for nobody where its root has %s',
    (pauses) => {
      expect(toInherited(pauses ? { pauses } : {})).toEqual({ pauses: 'refuse' })
    },
  )
})
