import { abortAllDurableObjects } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { boundMs } from '../../src/runtime/catalog/cached-set.ts'
import { lengthPrefixed } from '../../src/contracts/objects.ts'
import type { CatalogApi } from '../../src/runtime/catalog/types/plugin-catalog.ts'
import { fromReply } from '../../src/contracts/reply.ts'
import { sha256 } from '../fakes/kernel.ts'
import { callJson, type Answer } from '../fakes/client.ts'
import {
  addPlugin,
  callsTool,
  changePlugin,
  pluginBundle,
  runOnce,
  tryChange,
} from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const database = { isDown: false, takesChanges: true, isSilent: false, showsAfter: true }

/** Whether statements write a generation. */
const isChange = (statements: unknown) =>
  (statements as readonly { readonly statement: string }[]).some(({ statement }) =>
    /INSERT INTO generations/i.test(statement),
  )

const lost = () => new Error('D1_ERROR: Network connection lost.')

/** D1 fails as the test says, for the Worker and for every object. */
beforeAll(() => {
  const failing = (proto: Record<string, unknown>, names: readonly string[]) => {
    for (const name of names) {
      const original = proto[name] as (...args: unknown[]) => Promise<unknown>
      proto[name] = async function failingly(this: unknown, ...args: unknown[]) {
        // It goes away in the very moment of the write, not of another: the record is written at any time.
        if (name === 'batch' && !database.takesChanges && isChange(args[0])) database.isDown = true
        if (database.isDown) throw lost()
        if (name === 'batch' && isChange(args[0]) && database.isSilent) {
          await original.apply(this, args)
          database.isDown = true
          throw lost()
        }
        if (name === 'batch' && isChange(args[0]) && !database.showsAfter) {
          const done = await original.apply(this, args)
          database.isDown = true
          return done
        }
        return original.apply(this, args)
      }
    }
  }
  failing(Object.getPrototypeOf(env.DB), ['batch'])
  failing(Object.getPrototypeOf(env.DB.prepare('SELECT 1')), ['all', 'first', 'run'])
})
afterEach(() => {
  database.isDown = false
  database.takesChanges = true
  database.isSilent = false
  database.showsAfter = true
  upstream?.restore()
})

/** Until no word of the Catalog from before counts. */
const forgotten = () => new Promise((resolve) => setTimeout(resolve, boundMs + 100))

describe('the Catalog', () => {
  it('F15: knows what is enabled while the database is away, also after a restart', async () => {
    upstream = installUpstream(callsTool('away__say'))
    await addPlugin(pluginBundle('away', 'one'))
    await changePlugin('away', 'enable')
    database.isDown = true
    await abortAllDurableObjects()
    expect(await runOnce()).toContain('one')
    expect((await tryChange('away', 'disable')).status).toBe(503)
    database.isDown = false
    expect(await runOnce()).toContain('one')
  })

  it('F15: says nothing of a set that a change may have replaced while D1 was away', async () => {
    upstream = installUpstream(callsTool('cut__say'))
    await addPlugin(pluginBundle('cut', 'one'))
    await changePlugin('cut', 'enable')
    // The answer to the write is lost, and then D1 cannot be read.
    database.takesChanges = false
    expect((await tryChange('cut', 'disable')).status).toBe(503)
    await abortAllDurableObjects()
    await forgotten()
    expect(await runOnce()).not.toContain('one')
    database.isDown = false
    // That it could not be read is remembered for a second.
    const again = async () => expect(await runOnce()).toContain('one')
    await vi.waitFor(again, { timeout: 30_000, interval: 500 })
  })

  it('F15: goes on with the set that it knows when a change could not even begin', async () => {
    upstream = installUpstream(callsTool('kept__say'))
    await addPlugin(pluginBundle('kept', 'one'))
    await changePlugin('kept', 'enable')
    database.isDown = true
    expect((await tryChange('kept', 'disable')).status).toBe(503)
    await abortAllDurableObjects()
    await forgotten()
    expect(await runOnce()).toContain('one')
  })

  const catalog = () =>
    env.CATALOG.getByName(sha256(lengthPrefixed(['catalog']))) as unknown as CatalogApi
  /** Works with a plugin that is enabled, as a call does that is under way. */
  const work = async (id: string) => {
    await addPlugin(pluginBundle(id, 'one'))
    await changePlugin(id, 'enable')
    const state = { isEnded: false }
    const [part] = fromReply(await catalog().parts([id])).parts
    const { kind, epoch } = part!
    const listener = {
      gone: async () => void (state.isEnded = true),
      over: () => new Promise<void>(() => {}),
    }
    void catalog()
      .hold({ kind, id, epoch }, listener)
      .catch(() => {})
    await catalog().parts([id])
    expect(state.isEnded).toBe(false)
    return state
  }

  it('G12: tells who works with a plugin that it was switched off, and shows it, though D1 is away right after', async () => {
    const state = await work('unseen')
    database.showsAfter = false
    const response = await tryChange('unseen', 'disable')
    expect([response.status, state.isEnded]).toEqual([200, true])
    expect(((await response.json()) as Answer).plugin).toMatchObject({ state: 'disabled' })
  })

  it('G12: tells it when it knows it, if the reply to the write was lost', async () => {
    const state = await work('unheard')
    database.isSilent = true
    expect((await tryChange('unheard', 'disable')).status).toBe(503)
    database.isDown = false
    fromReply(await catalog().parts(['unheard']))
    await vi.waitFor(() => expect(state.isEnded).toBe(true), { timeout: 10_000, interval: 20 })
  })

  it('takes changes one after the other', async () => {
    const names = ['many-a', 'many-b', 'many-c', 'many-d', 'many-e']
    for (const name of names) await addPlugin(pluginBundle(name, 'one'))
    const done = await Promise.all(names.map((name) => changePlugin(name, 'enable')))
    const numbers = done.map(({ generation }) => generation as number)
    expect(new Set(numbers).size).toBe(names.length)
    const { generations } = await callJson('/api/operator/generations')
    expect(generations[0].number).toBe(Math.max(...numbers))
    // None was written over by another that had read the same one before.
    const { plugins } = await callJson('/api/operator/plugins')
    const enabled = plugins.filter(({ state }: Answer) => state === 'enabled')
    expect(enabled.map(({ id }: Answer) => id)).toEqual(expect.arrayContaining(names))
  })
})
