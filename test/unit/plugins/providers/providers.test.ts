import { describe, expect, it, vi } from 'vitest'
import type { DeploymentEvent } from '#contracts/event.ts'
import { createProviders } from '../../../../src/features/plugins/providers/providers.ts'
import { bundle, createCapabilityDeps, loadOne } from '../../../fakes/plugins.ts'

/** A plugin that keeps the documents, and logs so often in a call. */
function open(lines: number, write: (events: readonly DeploymentEvent[]) => Promise<void>) {
  const manifest = { id: 'keeper', contributes: { providers: ['knowledge'] } }
  const plugin = loadOne(
    bundle(manifest, () => ({
      providers: {
        knowledge: async (_request, { log }) => {
          for (let at = 0; at < lines; at += 1) log(`line ${at}`)
          return { passages: [] }
        },
      },
    })),
  )
  return createProviders([plugin], {
    capabilities: createCapabilityDeps(),
    clock: { nowMs: () => 5, sleep: () => new Promise(() => {}) },
    traceId: () => 'trace',
    log: { appendAll: write },
  })
}
const asked = { principal: 'ann', request: { verb: 'search' } }

describe('P17: what a plugin says while it stands in for what is built in', () => {
  it('is written in one go, at most 20 of a call, with how many were left out', async () => {
    const written: (readonly DeploymentEvent[])[] = []
    const { ask } = open(33, async (events) => void written.push(events))
    await ask('knowledge', asked)
    expect(written).toHaveLength(1)
    const [events] = written
    expect(events).toHaveLength(20)
    expect(events![19]!.data).toMatchObject({ plugin: 'keeper', unrecorded: 13 })
    expect(events![18]!.data).not.toHaveProperty('unrecorded')
  })

  it('keeps no caller waiting: the answer is there while the record is not', async () => {
    const write = vi.fn(() => new Promise<void>(() => {}))
    expect(await open(1, write).ask('knowledge', asked)).toMatchObject({ from: 'keeper' })
    expect(write).toHaveBeenCalledOnce()
  })
})
