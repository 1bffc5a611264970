import { describe, expect, it } from 'vitest'
import type { ToolEntry } from '#contracts/tool.ts'
import { resolveUsesTools } from '../../../src/features/agents/tool-reach.ts'
import {
  permitLines,
  toPermit,
  widened,
  parseManifest,
} from '../../../src/runtime/catalog/types/permit.ts'
import { says, toolEntry } from '../../fakes/kernel.ts'

const owner = (id: string, ...names: string[]) => ({
  id,
  entries: names.map((name): ToolEntry => toolEntry(`${id}__${name}`, async () => says(''))),
})
const owners = [owner('kv', 'get', 'set', 'delete'), owner('http', 'get')]
const reached = (uses: readonly string[], disallowed: readonly string[]) =>
  resolveUsesTools(uses, owners, disallowed).entries.map(({ tool }) => tool.name)

describe('disallowed_tools', () => {
  it.each([
    [['kv__delete'], ['kv__get', 'kv__set', 'http__get']],
    [['kv'], ['http__get']],
    [['kv__*'], ['http__get']],
    [['*'], []],
    [[], ['kv__get', 'kv__set', 'kv__delete', 'http__get']],
  ])('P30: takes %j out of what an agent may use', (disallowed, left) => {
    expect(reached(['kv', 'http'], disallowed)).toEqual(left)
  })

  it('P30: wins over a tool that is named', () => {
    expect(reached(['kv__set'], ['kv__set'])).toEqual([])
  })

  it('P30: stands in the manifest beside name, prompt, tools and turns, and whether it writes skills', () => {
    const agent = {
      integration_mode: 'tool',
      model: 'm',
      instructions: 'p.md',
      uses_tools: ['kv'],
      disallowed_tools: ['kv__delete'],
      limits: { max_turns: 3 },
    }
    const manifest = { id: 'a', name: 'A', version: '1.0.0', description: 'd', agent }
    expect(parseManifest(manifest).agent).toMatchObject(agent)
    const emits = { ...manifest, agent: { ...agent, allow_skill_emission: true } }
    expect(parseManifest(emits).agent).toMatchObject({ allow_skill_emission: true })
    const asks = (one: object) => permitLines(toPermit(parseManifest(one))).map(({ text }) => text)
    expect(asks(emits)).toContain('agent: writes drafts of skills')
    expect(asks(manifest)).not.toContain('agent: writes drafts of skills')
    // A version that begins to write them has to be allowed anew.
    const more = widened(toPermit(parseManifest(emits)), toPermit(parseManifest(manifest)))
    expect(more).toEqual([{ text: 'agent: writes drafts of skills' }])
  })
})
