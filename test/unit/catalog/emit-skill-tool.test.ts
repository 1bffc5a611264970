import { describe, expect, it } from 'vitest'
import type { SkillWriting } from '../../../src/runtime/catalog/types/skill-catalog.ts'
import { createEmitSkillTool } from '../../../src/runtime/catalog/skill-tool.ts'
import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import { createToolContext } from '../../fakes/tool-context.ts'

const input = { name: 'a-way', description: 'Does it.', instructions: 'Step by step.' }
const kept = { ok: true, draft: 'drf_1', name: 'a-way', hash: 'h', redacted: 0 } as const

async function emit(answer: SkillWriting | Error) {
  const context = createToolContext()
  const { tool } = createEmitSkillTool(async () => {
    if (answer instanceof Error) throw answer
    return answer
  })
  return { result: await tool.execute(input, context), events: context.events }
}

describe('isola__emit_skill', () => {
  it('names the draft, and tells of it', async () => {
    const { result, events } = await emit(kept)
    expect(result).toEqual({ ok: true, output: { draft: 'drf_1', kept: true } })
    expect(events).toEqual([
      {
        type: 'skill_emitted',
        data: { call: 'call_1', draft: 'drf_1', name: 'a-way', hash: 'h', redacted: 0 },
      },
    ])
  })

  it('T23: names none that is another principal’s, in its answer and on the record', async () => {
    const { draft: _, ...rest } = kept
    const { result, events } = await emit(rest)
    expect(result).toStrictEqual({ ok: true, output: { kept: true } })
    const { ok: __, ...about } = rest
    expect(events).toStrictEqual([{ type: 'skill_emitted', data: { call: 'call_1', ...about } }])
  })

  it('says how many secrets were taken out', async () => {
    const { result } = await emit({ ...kept, redacted: 2 })
    expect(result).toMatchObject({ output: { redacted: 2 } })
  })

  it('C5: says why nothing was kept, to the model and on the record', async () => {
    const { result, events } = await emit({ ok: false, message: 'name: is wrong.' })
    const error = { code: 'tool_failed', message: 'name: is wrong.' }
    expect(result).toEqual({ ok: false, error })
    const data = { call: 'call_1', level: 'notice', message: error.message }
    expect(events).toEqual([{ type: 'tool_log', data }])
  })

  it('F36: says so where the database is away, and keeps the error to itself', async () => {
    const { result } = await emit(new Error('D1 is away'))
    expect(result).toMatchObject({ ok: false, error: { code: 'tool_failed', transient: true } })
    expect(JSON.stringify(result)).not.toContain('D1')
  })

  it('E9: takes little of a prompt', () => {
    const { tool } = createEmitSkillTool(async () => kept)
    const { name, description, inputSchema } = tool
    const tokens = createTokenEstimator().ofTools([{ name, description, inputSchema }])
    expect(tokens).toBeLessThanOrEqual(155)
  })
})
