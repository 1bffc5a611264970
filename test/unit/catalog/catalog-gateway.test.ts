import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { CatalogApi, PluginSnapshot } from '#contracts/plugin-catalog.ts'
import { createCatalogGateway } from '../../../src/catalog/catalog-gateway.ts'
import { toolPolicySchema } from '../../../src/contracts/tool-policy.ts'
import { systemSources } from '../../../src/sources.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const pin = { id: 'one', hash: 'a' } as unknown as PluginSnapshot['installed'][number]
const snapshot: PluginSnapshot = { number: 7, installed: [pin], bundled: {}, sources: {} }
const source = { manifest: {}, files: {} }
const withCatalog = (read: CatalogApi['read']) =>
  createCatalogGateway({ ...systemSources, namespace: { getByName: () => ({ read }) } })

it('a Catalog that does not answer holds up nobody for more than five seconds', async () => {
  const asked = withCatalog(() => new Promise(() => {})).snapshot()
  const refused = expect(asked).rejects.toMatchObject({ code: 'request_unavailable' })
  await vi.advanceTimersByTimeAsync(5_000)
  await refused
})

it.each([
  ['complete', { a: source }, [undefined, 7]],
  ['without a bundle', {}, [undefined, undefined]],
])('P25: a set that is %s is asked for with %j known', async (_name, sources, expected) => {
  const known: (number | undefined)[] = []
  const gateway = withCatalog(async (number) => {
    known.push(number)
    return { ok: true, value: { number: 7, snapshot: { ...snapshot, sources } } }
  })
  await gateway.snapshot()
  await vi.advanceTimersByTimeAsync(1_000)
  await gateway.snapshot()
  expect(known).toEqual(expected)
})

it('P4: a policy of a Catalog of the version before says nothing of what came since: there it is as shipped', async () => {
  const { network, ...before } = toolPolicySchema.parse({ deny: ['kv__*'] })
  const old = { ...snapshot, policy: before } as unknown as PluginSnapshot
  const gateway = withCatalog(async () => ({ ok: true, value: { number: 7, snapshot: old } }))
  expect((await gateway.snapshot()).policy).toEqual({ ...before, network })
  expect(network).toEqual({ hosts: [], elsewhere: 'ask' })
})
