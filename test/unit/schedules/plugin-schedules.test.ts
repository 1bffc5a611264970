import { describe, expect, it } from 'vitest'
import type { Schedule } from '../../../src/runtime/session/types/schedule.ts'
import { createPluginSchedules } from '../../../src/features/schedules/plugin-schedules.ts'
import { lengthPrefixed } from '../../../src/contracts/objects.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { scheduleOf } from '../../fakes/schedules.ts'

type Deps = Parameters<typeof createPluginSchedules>[0]

/** Two plugins, of which `clock` has a schedule. `asked`: the calls to objects and to the catalog, in order. */
function open({
  state = 'enabled',
  kept = [],
}: { state?: string; kept?: readonly Schedule[] } = {}) {
  const asked: string[] = []
  const views = new Map<string, unknown>([
    ['clock', { state, manifest: { name: 'Clock', schedule: '0 8 * * *' } }],
    ['plain', { state: 'enabled', manifest: { name: 'Plain' } }],
  ])
  const deps = {
    sha256,
    plugins: {
      show: async (id: string) => {
        asked.push(`show ${id}`)
        return views.get(id)
      },
    },
    index: {
      find: async (id: string) => kept.find((one) => one.id === id),
      async ofManifests() {
        asked.push('ofManifests')
        return [{ plugin: 'clock', name: 'Clock', cron: '0 8 * * *' }]
      },
      list: async ({ after = '', limit }: { after?: string; limit: number }) => {
        asked.push('list')
        return kept.filter(({ id }) => id > after).slice(0, limit)
      },
    },
    gateway: { ask: async (owner: string, verb: string) => void asked.push(`${verb} ${owner}`) },
    onFault: (error: unknown) => asked.push(String(error)),
  } as unknown as Deps
  return { asked, sync: createPluginSchedules(deps) }
}

const idOf = (plugin: string) =>
  `sch_${sha256(lengthPrefixed(['plugin-schedule', plugin])).slice(0, 22)}`
const keptBy = (plugin: string, cron = '0 8 * * *', name = 'Clock') =>
  scheduleOf(
    { name, when: { cron, timeZone: 'UTC' } },
    { id: idOf(plugin), owner: `plugin:${plugin}`, asker: { principal: 'operator' } },
  )

describe('the schedules of plugins', () => {
  it('E9: a change of one plugin looks at that one alone, however many there are', async () => {
    const { asked, sync } = open()
    await sync('clock')
    await sync('plain')
    expect(asked).toEqual(['show clock', 'add plugin:clock', 'show plain'])
  })

  it('lets go of the schedule of one that was switched off', async () => {
    const { asked, sync } = open({ state: 'disabled', kept: [keptBy('clock')] })
    await sync('clock')
    expect(asked).toEqual(['show clock', 'remove plugin:clock'])
  })

  it('E9: brings all of them to what is enabled by one read of manifests, however many there are', async () => {
    const { asked, sync } = open()
    await sync()
    expect(asked).toEqual(['ofManifests', 'list', 'add plugin:clock'])
  })

  it('wakes no object of one that is as it should be, and lets go of what is left', async () => {
    const others = Array.from({ length: 700 }, (_, index) =>
      scheduleOf({}, { id: `sch_${String(index).padStart(22, '0')}` }),
    )
    const { asked, sync } = open({
      kept: [...others, keptBy('clock'), keptBy('gone')].toSorted(byId),
    })
    await sync()
    expect(asked).toEqual(['ofManifests', 'list', 'list', 'remove plugin:gone'])
  })

  it.each([
    ['another time', keptBy('clock', '0 9 * * *')],
    ['another name', keptBy('clock', '0 8 * * *', 'Watch')],
  ])('asks the object of one that has %s', async (_what, kept) => {
    const { asked, sync } = open({ kept: [kept] })
    await sync()
    expect(asked).toEqual(['ofManifests', 'list', 'add plugin:clock'])
  })
})

const byId = ({ id: one }: Schedule, { id: other }: Schedule) => (one < other ? -1 : 1)
