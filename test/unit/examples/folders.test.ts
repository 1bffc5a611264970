import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readAgentFolder } from '../../../cli/agent-folder.ts'
import { toManifest } from '../../../src/features/agents/types.ts'
import { agentDefinition } from '../../../src/contracts/manifest/agent-definition.ts'
import { plays } from '../../fakes/examples/models.ts'

const root = 'examples/agents'
const folders = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const definitionOf = (folder: string) => agentDefinition.parse(readAgentFolder(join(root, folder)))
const page = readFileSync('docs/examples.md', 'utf8')
const tests = globSync('test/e2e/examples*.test.ts')
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n')
/** Tools that change something outside, or whose calls need an approval. */
const outward = ['http__request']

describe('I23, I24: an example agent', () => {
  it.each(folders)(
    '%s: is read as the command reads it, under the name of its folder',
    (folder) => {
      const { id, agent } = definitionOf(folder)
      expect(id).toBe(folder)
      expect(toManifest(definitionOf(folder), 'a'.repeat(64)).agent?.uses_tools).toEqual(
        agent.uses_tools,
      )
      // Each variable of the prompt has its value.
      const used = [...agent.instructions.matchAll(/\{\{ (\w+) \}\}/g)].map(([, name]) => name!)
      expect([...new Set(used)].sort()).toEqual(Object.keys(agent.variables).sort())
    },
  )

  it.each(folders)(
    '%s: is on the page of examples, played by a model, and named in a test',
    (folder) => {
      expect(page).toContain(`\`${folder}\``)
      expect(page).toContain(`examples/agents/${folder}`)
      expect(tests).toContain(`'${folder}'`)
      const heading = /^# (.+)$/m.exec(definitionOf(folder).agent.instructions)![1]!
      expect(Object.keys(plays)).toContain(heading.replace('{{ company }}', 'Example Ltd'))
    },
  )

  it.each(folders)(
    '%s: names tools one by one, its limits, and the agents that are here',
    (folder) => {
      const { agent } = definitionOf(folder)
      for (const tool of agent.uses_tools) expect(tool).toMatch(/^[a-z-]+__[a-z_]+$/)
      const called = agent.uses_tools.filter(
        (name) => name.endsWith('__run') && name !== 'code__run',
      )
      for (const name of called) expect(folders).toContain(name.replace('__run', ''))
      // An agent that calls no other has no children.
      expect(agent.limits.max_children).toBeGreaterThanOrEqual(called.length)
      if (called.length === 0) expect(agent.limits.max_children).toBe(0)
      // What they take counts as its own: it has room for the largest of them beside its own turn.
      for (const name of called) {
        const { limits } = definitionOf(name.replace('__run', '')).agent
        expect(agent.limits.max_turns).toBeGreaterThan(limits.max_turns)
        expect(agent.limits.max_tokens_per_invocation).toBeGreaterThan(
          limits.max_tokens_per_invocation,
        )
        expect(agent.limits.max_tool_calls).toBeGreaterThan(limits.max_tool_calls!)
        expect(agent.limits.time_budget_ms).toBeGreaterThan(limits.time_budget_ms)
      }
      if (agent.uses_tools.length === 0) expect(agent.limits.max_tool_calls).toBe(0)
      expect(existsSync(join(root, folder, 'prompt.md'))).toBe(true)
    },
  )

  it('only one of them reaches outward, and what reads strangers’ pages sends nothing', () => {
    const all = folders.map((folder) => definitionOf(folder))
    const sending = all.filter(({ agent }) => agent.uses_tools.some((one) => outward.includes(one)))
    expect(sending.map(({ id }) => id)).toEqual(['bug-reporter'])
    const reading = all.filter(({ agent }) => agent.uses_tools.includes('http__get'))
    expect(reading.map(({ id }) => id)).toEqual(['bug-search', 'release-notes'])
  })
})
