import { describe, expect, it } from 'vitest'
import type { Schedule } from '../../../src/runtime/session/types/schedule.ts'
import { createPluginSubscriptions } from '../../../src/features/schedules/plugin-schedules.ts'
import { sha256 } from '../../fakes/kernel.ts'

type Deps = Parameters<typeof createPluginSubscriptions>[0]

const subscribing = (task: string) => ({ agent: { subscribes: [{ event: 'shop.sold', task }] } })

/** `asked`: the calls to the list, the catalog and objects, in order; objects do as they are told. */
function open(manifests: Readonly<Record<string, unknown>>) {
  const asked: string[] = []
  const kept = new Map<string, Schedule>()
  const enabled = { ...manifests }
  const deps = {
    sha256,
    plugins: {
      show: async (id: string) => {
        asked.push(`show ${id}`)
        return { state: id in enabled ? 'enabled' : 'disabled', manifest: enabled[id] }
      },
    },
    index: {
      async subscribingManifests() {
        asked.push('read')
        return Object.entries(enabled).map(([plugin, manifest]) => ({ plugin, manifest }))
      },
      subscriptionsOf: async (plugin?: string) =>
        [...kept.values()].filter(({ owner }) => !plugin || owner === `plugin:${plugin}`),
    },
    gateway: {
      async ask(owner: string, verb: string, ask: { id?: string; schedule?: Schedule }) {
        asked.push(`${verb} ${owner}`)
        if (ask.schedule) kept.set(ask.schedule.id, ask.schedule)
        else kept.delete(ask.id ?? '')
      },
    },
    onFault: (error: unknown) => asked.push(String(error)),
  } as unknown as Deps
  const sync = createPluginSubscriptions(deps)
  const after = async (plugin?: string) => {
    asked.length = 0
    await sync(plugin)
    return [...asked]
  }
  return { enabled, kept, after }
}

describe('the subscriptions of plugins', () => {
  it('E9: all of them are one read; objects that are as they should be are asked nothing', async () => {
    const { after } = open({ stock: subscribing('Order more.'), till: subscribing('Count.') })
    expect(await after()).toEqual(['read', 'add plugin:stock', 'add plugin:till'])
    expect(await after()).toEqual(['read'])
  })

  it('Y28: a subscription with another text is added as a new one, and the old one is removed', async () => {
    const { enabled, kept, after } = open({ stock: subscribing('Order more.') })
    await after()
    enabled['stock'] = subscribing('Order less.')
    expect(await after('stock')).toEqual(['show stock', 'add plugin:stock', 'remove plugin:stock'])
    expect([...kept.values()].map(({ spec }) => Object(spec.work).task)).toEqual(['Order less.'])
  })

  it('Y28: of a plugin that is switched off nothing is left, and of others nothing is touched', async () => {
    const { enabled, kept, after } = open({ stock: subscribing('A.'), till: subscribing('B.') })
    await after()
    delete enabled['stock']
    expect(await after('stock')).toEqual(['show stock', 'remove plugin:stock'])
    expect([...kept.values()].map(({ owner }) => owner)).toEqual(['plugin:till'])
  })
})
