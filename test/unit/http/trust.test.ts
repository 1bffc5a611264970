import { describe, expect, it } from 'vitest'
import { createFakeApp, errorOf } from '../../fakes/http-deps.ts'

const path = '/api/operator/trust'
// RFC 8032, test 1.
const publicKey = Buffer.from(
  'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
  'hex',
).toString('base64')

describe('/api/operator/trust', () => {
  it('accepts a key, lists it and takes it away by its name', async () => {
    const { send } = createFakeApp()
    const added = await send(path, { json: { name: 'acme', publicKey } })
    expect(added.status).toBe(201)
    const key: unknown = await added.json()
    expect(key).toMatchObject({ name: 'acme', publicKey, addedBy: 'operator' })
    expect(await (await send(path)).json()).toEqual({ keys: [key] })
    const removed = await send(`${path}/acme`, { method: 'DELETE' })
    expect([removed.status, await removed.json()]).toEqual([200, key])
    expect(await (await send(path)).json()).toEqual({ keys: [] })
  })

  it('is 404 for a key that is not there', async () => {
    const { send } = createFakeApp()
    expect((await send(`${path}/acme`, { method: 'DELETE' })).status).toBe(404)
  })

  it.each([
    [{ publicKey }, 'name'],
    [{ name: 'Acme Inc', publicKey }, 'name'],
    [{ name: 'acme', publicKey: 'ssh-ed25519 AAAA' }, 'publicKey'],
    [{ name: 'acme', publicKey: Buffer.alloc(32).toString('base64') }, 'publicKey'],
    [{ name: 'acme', publicKey, tier: 'builtin' }, 'tier'],
  ])('is 400 for %j', async (json, param) => {
    const { send } = createFakeApp()
    const response = await send(path, { json })
    expect([response.status, (await errorOf(response)).param]).toEqual([400, param])
  })

  it('is 409 for a name that is there', async () => {
    const { send } = createFakeApp()
    await send(path, { json: { name: 'acme', publicKey } })
    expect((await send(path, { json: { name: 'acme', publicKey } })).status).toBe(409)
  })
})
