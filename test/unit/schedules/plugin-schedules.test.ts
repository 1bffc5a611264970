import { describe, expect, it } from 'vitest'
import type { Schedule } from '#contracts/schedule.ts'
import { createPluginSchedules } from '../../../src/schedules/plugin-schedules.ts'
import { sha256 } from '../../fakes/kernel.ts'

type Deps = Parameters<typeof createPluginSchedules>[0]

/** Two plugins, of which `clock` has a schedule. What was asked of objects and of the catalog, in order. */
function open({ state = 'enabled', kept }: { state?: string; kept?: Partial<Schedule> } = {}) {
  const asked: string[] = []
  const views = new Map<string, unknown>([
    ['clock', { state, manifest: { name: 'Clock', schedule: '0 8 * * *' } }],
    ['plain', { state: 'enabled', manifest: { name: 'Plain' } }],
  ])
  const deps = {
    sha256,
    plugins: {
      list: async () => {
        asked.push('list')
        return [...views.keys()].map((id) => ({ id, state: 'enabled' }))
      },
      show: async (id: string) => {
        asked.push(`show ${id}`)
        return views.get(id)
      },
    },
    index: { find: async () => kept, list: async () => [] },
    gateway: { ask: async (owner: string, verb: string) => void asked.push(`${verb} ${owner}`) },
    onFault: (error: unknown) => asked.push(String(error)),
  } as unknown as Deps
  return { asked, sync: createPluginSchedules(deps) }
}

describe('the schedules of plugins', () => {
  it('E9: a change of one plugin looks at that one alone, however many there are', async () => {
    const { asked, sync } = open()
    await sync('clock')
    await sync('plain')
    expect(asked).toEqual(['show clock', 'add plugin:clock', 'show plain'])
  })

  it('lets go of the schedule of one that was switched off', async () => {
    const kept = { owner: 'plugin:clock', id: 'sch_1' } as const
    const { asked, sync } = open({ state: 'disabled', kept })
    await sync('clock')
    expect(asked).toEqual(['show clock', 'remove plugin:clock'])
  })

  it('brings all of them to what is enabled where many may have changed', async () => {
    const { asked, sync } = open()
    await sync()
    expect(asked).toEqual(['list', 'show clock', 'show plain', 'add plugin:clock'])
  })
})
