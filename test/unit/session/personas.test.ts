import { describe, expect, it } from 'vitest'
import { labelFrom } from '#contracts/label.ts'
import type { AgentUse } from '#runtime/session/types/runtime.ts'
import { createLoader } from '../../../src/features/agents/pinned-agent.ts'
import { runStarted } from '../../../src/runtime/session/log/log-view.ts'
import { personaOf } from '../../../src/runtime/session/storage/session-row.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { createToolset } from '../../../src/runtime/catalog/toolset.ts'
import { agentSpec, sha256 } from '../../fakes/kernel.ts'
import { createSessionWorld } from '../../switches/session-world.ts'

const stranger = labelFrom('skill:odd', { confidentiality: 'public' })

/** A session whose agent speaks as a persona with this label. */
function setUp(persona: { name: string; hash?: string; label?: typeof stranger } | undefined) {
  const toolset = createToolset([], { core: 'with-core-tools', buildIndex: createSearchIndex })
  const spec = agentSpec({}, persona ? { persona } : {})
  const load = createLoader(spec, toolset, { sha256 })
  const world = createSessionWorld({
    script: [{ text: 'said' }],
    load: async (_agent, options, use: AgentUse = {}) => load(options, use),
  })
  return world.wake()
}

describe('P11: a run that speaks as a persona', () => {
  it('T11: has read what a stranger wrote, where the persona is a stranger’s', async () => {
    const [odd, own] = [setUp({ name: 'odd', hash: 'h', label: stranger }), setUp(undefined)]
    expect((await odd.run()) as object).toMatchObject({
      label: { integrity: 'stranger', sources: stranger.sources },
    })
    expect((await own.run()) as object).not.toMatchObject({ label: { integrity: 'stranger' } })
  })

  it('says so in its first event, and in no other word of it', async () => {
    const life = setUp({ name: 'odd', hash: 'h', label: stranger })
    const { id } = (await life.run()) as { id: string }
    const [event] = runStarted(life.row(id))
    expect(event?.data.persona).toEqual({ name: 'odd', hash: 'h' })
    const plain = setUp(undefined)
    const run = (await plain.run()) as { id: string }
    expect(runStarted(plain.row(run.id))[0]?.data).not.toHaveProperty('persona')
  })
})

describe('the persona of a session', () => {
  const row = { id: 'ses_1', principal: 'ada', createdAtMs: 0 }
  it.each([
    ['none, if nothing was said', {}, undefined],
    ['what it was made with', { persona: 'calm' }, 'calm'],
    ['what it was changed to', { persona: 'calm', personaSince: 'loud' }, 'loud'],
    ['none, once it was taken away', { persona: 'calm', personaSince: null }, undefined],
  ])('is %s', (_what, said, expected) => {
    expect(personaOf({ ...row, ...said })).toBe(expected)
  })
})
