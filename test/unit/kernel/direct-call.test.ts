import { describe, expect, it } from 'vitest'
import type { ToolHooks } from '#runtime/kernel/types/policy.ts'
import type { ToolResult } from '#contracts/tool.ts'
import { loadPlugins } from '../../../src/features/plugins/loading/in-process-host.ts'
import { bundle, createTestHooks, passAll } from '../../fakes/plugins.ts'
import {
  agentSpec,
  createEndingKernel,
  createFakeModel,
  createKernelParts,
  createMemoryJournal,
  openGates,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
} from '../../fakes/kernel.ts'

/** A run of one call that answers so much, with a hook that looks for a word in what it is told. */
async function outputOf(chars: number, tools?: ToolHooks) {
  const told: ToolResult[] = []
  const text = `${'x'.repeat(chars)}secret`
  const hooks = {
    ...openGates.hooks,
    after: async (_subject: unknown, result: ToolResult) => (told.push(result), says('redacted')),
  }
  const kernel = createEndingKernel(
    createKernelParts(createFakeModel([]), { gates: { ...openGates, hooks: tools ?? hooks } }),
  )
  let seq = 0
  const { output } = await kernel.run(
    runInput({
      agent: agentSpec({}),
      options: { directCall: { tool: 'demo__go', input: {} } },
      toolset: toolsetOf([toolEntry('isola__call', async () => says(text))]),
    }),
    runPorts({ journal: createMemoryJournal(), nextSeq: () => (seq += 1) }),
  )
  return { told: JSON.stringify(told), output }
}

describe('a call without a model', () => {
  it('P15: shows its hooks all that goes to the client', async () => {
    const { told, output } = await outputOf(5_000)
    expect(told).toContain('secret')
    expect(output).toMatchObject({ ok: true, output: 'redacted' })
  })

  it('P15: lets a hook of a plugin change a long result, and make no giant of it', async () => {
    const changed = async (length: number) => {
      const { plugins } = loadPlugins(
        [
          bundle(
            { id: 'guard', contributes: { hooks: [{ on: 'afterToolCall', match: '*' }] } },
            () => ({
              hooks: { afterToolCall: async () => ({ result: 'y'.repeat(length) }) },
            }),
          ),
        ],
        { validator: passAll },
      )
      return outputOf(5_000, createTestHooks(plugins).tools)
    }
    expect((await changed(4_000)).output).toMatchObject({ ok: true, output: 'y'.repeat(4_000) })
    expect((await changed(1_000_001)).output).toMatchObject({ ok: false, code: 'tool_denied' })
  })

  it('F27: of a giant one both get the start', async () => {
    expect((await outputOf(1_000_001)).told).toContain('"handle":"kept"')
  })
})
