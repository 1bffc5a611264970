import { describe, expect, it } from 'vitest'
import {
  defaultExposure,
  exposureDiff,
  exposureLines,
  exposureSchema,
  offeredSkills,
} from '../../../src/runtime/catalog/types/generation.ts'

describe('what MCP clients are offered', () => {
  it('is the orchestrator alone before an operator says anything', () => {
    expect(exposureLines(defaultExposure)).toEqual(['agent orchestrator'])
  })

  it.each([
    ['tools', '*'],
    ['tools', '**'],
    ['tools', 'kv'],
    ['bare_names', '*'],
    ['resources', '*'],
    ['prompts', 'a*'],
    ['skills', '*'],
    ['public_skills', 'code-*'],
    ['public_skills', '../secret'],
  ])('cannot name everything there will ever be: %s: %s', (field, value) => {
    expect(exposureSchema.safeParse({ [field]: [value] }).success).toBe(false)
  })

  it('refuses a key that it does not know', () => {
    expect(exposureSchema.safeParse({ tool: ['kv__get'] }).success).toBe(false)
  })

  it('says of a skill whether a key is asked for; a public skill is offered to keys too', () => {
    const choice = exposureSchema.parse({ agents: [], skills: ['b', 'a'], public_skills: ['b'] })
    expect(exposureLines(choice)).toEqual([
      'skill b',
      'skill a',
      'skill b, for anybody without a key',
    ])
    expect(offeredSkills(choice)).toEqual(['a', 'b'])
  })

  it('says what a new choice adds and takes away', () => {
    const before = exposureSchema.parse({ tools: ['kv__*'] })
    const after = exposureSchema.parse({ agents: [], tools: ['kv__*'], prompts: ['notes'] })
    expect(exposureDiff(before, after)).toMatchObject({
      added: ['prompts of notes'],
      removed: ['agent orchestrator'],
    })
  })
})
