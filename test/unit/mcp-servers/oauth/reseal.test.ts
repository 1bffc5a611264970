import { describe, expect, it } from 'vitest'
import { mcpServerSchema, type McpServerRow } from '../../../../src/runtime/catalog/types/mcp.ts'
import { createSealing } from '../../../../src/features/access/secrets/sealing.ts'
import {
  createSealedStore,
  resealAll,
} from '../../../../src/features/mcp-servers/oauth/sealed-store.ts'
import { rotateServers } from '../../../../src/features/mcp-servers/gateway.ts'
import { secureBytes } from '../../../../src/compose/sources.ts'
import { sha256 } from '../../../fakes/mcp-link.ts'

const [old, current] = ['A', 'B'].map((letter) => `${letter.repeat(42)}A=`) as [string, string]
const sealingOf = (keys: { current: string; previous?: string }) =>
  createSealing({ previous: '', ...keys }, { sha256, randomBytes: secureBytes })

function memory() {
  const kept = new Map<string, unknown>()
  return {
    kept,
    get: (key: string) => kept.get(key),
    put: (key: string, value: unknown) => void kept.set(key, value),
    delete: (key: string) => void kept.delete(key),
    list: ({ prefix }: { readonly prefix: string }) =>
      [...kept].filter(([key]) => key.startsWith(prefix)),
  }
}
const signInOf = (store: ReturnType<typeof memory>, keys: Parameters<typeof sealingOf>[0]) =>
  createSealedStore(store, sealingOf(keys), 'scope', () => {})

describe('the stored sign-in at a remote server', () => {
  it('I28: opens under the new master key alone once it was sealed anew', async () => {
    const store = memory()
    const tokens = { access_token: 'the-token' }
    await signInOf(store, { current: old }).put('tokens', tokens)
    store.put('listing', { key: 'k', value: {} })
    const both = sealingOf({ current, previous: old })
    expect(await resealAll(store, both)).toEqual({ rotated: 1, current: 0, locked: 0 })
    expect(await resealAll(store, both)).toEqual({ rotated: 0, current: 1, locked: 0 })
    expect(await signInOf(store, { current }).get('tokens')).toEqual(tokens)
    expect(JSON.stringify([...store.kept])).not.toContain('the-token')
    expect(store.get('listing')).toEqual({ key: 'k', value: {} })
  })

  it('I28: stays as it is while no key opens it, since the key may be put back', async () => {
    const store = memory()
    await signInOf(store, { current: old }).put('tokens', { access_token: 'x' })
    expect(await resealAll(store, sealingOf({ current }))).toEqual({
      rotated: 0,
      current: 0,
      locked: 1,
    })
    expect(await signInOf(store, { current: old }).get('tokens')).toEqual({ access_token: 'x' })
  })

  it('is not put back under what a sign-in wrote meanwhile', async () => {
    const store = memory()
    await signInOf(store, { current: old }).put('tokens', { access_token: 'before' })
    const both = sealingOf({ current, previous: old })
    const meanwhile = {
      ...both,
      seal: async (...given: Parameters<typeof both.seal>) => {
        const sealed = await both.seal(...given)
        await signInOf(store, { current }).put('tokens', { access_token: 'after' })
        return sealed
      },
    }
    await resealAll(store, meanwhile)
    expect(await signInOf(store, { current }).get('tokens')).toEqual({ access_token: 'after' })
  })
})

describe('a rotation of the master key', () => {
  const row = (id: string, auth: string): McpServerRow => ({
    id,
    config: mcpServerSchema.parse({ id, url: `https://${id}.example.com/mcp`, auth }),
    state: 'enabled',
    confirmed: [],
    epoch: 1,
    addedBy: 'ada',
    addedAtMs: 0,
  })

  it('I28: asks every server with sign-ins, and names the servers that fail', async () => {
    const rows = [
      row('one', 'oauth'),
      row('two', 'oauth'),
      row('three', 'oauth'),
      row('four', 'headers'),
    ]
    const store = { list: async () => rows, find: async () => undefined }
    const faults: unknown[] = []
    const asked: string[] = []
    const at = (id: string) => ({
      reseal: async () => {
        asked.push(id)
        if (id === 'two') throw new Error('away')
        const locked = id === 'three' ? 1 : 0
        return { ok: true as const, value: { rotated: 1, current: 2, locked } }
      },
      signers: async () => [],
    })
    expect(await rotateServers({ store, onFault: (error) => faults.push(error) }, at)).toEqual({
      rotated: 2,
      current: 4,
      failed: [
        { name: 'MCP server two', message: 'The MCP server two could not be asked. Try again.' },
        { name: 'MCP server three', message: expect.stringContaining('isola mcp login three') },
      ],
    })
    expect(asked).toEqual(['one', 'two', 'three'])
    expect(faults).toHaveLength(1)
  })

  it('I28: asks the object of every principal where each signs in, and no other', async () => {
    const store = { list: async () => [row('one', 'principal')], find: async () => undefined }
    const asked: string[] = []
    const at = (id: string, principal = '') => ({
      reseal: async () => {
        asked.push(`${id} ${principal}`)
        const locked = principal === 'ada' ? 1 : 0
        return { ok: true as const, value: { rotated: 1, current: 0, locked } }
      },
      signers: async () => ['ada', 'bob'].map((name) => ({ principal: name, ref: `of-${name}` })),
    })
    expect(await rotateServers({ store, onFault: () => {} }, at)).toEqual({
      rotated: 2,
      current: 0,
      failed: [
        {
          name: 'MCP server one of ada',
          message:
            'No key opens the sign-in of ada at the MCP server one. Sign in again: isola mcp login one --mine',
        },
      ],
    })
    expect(asked).toEqual(['one ada', 'one bob'])
  })

  it('I28: says of a server that cannot be asked who signed in there', async () => {
    const store = { list: async () => [row('one', 'principal')], find: async () => undefined }
    const never = async () => {
      throw new Error('away')
    }
    const at = () => ({ reseal: never, signers: never })
    const { failed } = await rotateServers({ store, onFault: () => {} }, at)
    expect(failed).toMatchObject([{ name: 'MCP server one' }])
  })
})
