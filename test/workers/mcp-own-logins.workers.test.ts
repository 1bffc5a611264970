import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lengthPrefixed } from '#contracts/objects.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { createAuthWorld } from '../fakes/mcp-sign-in.ts'
import { callsTool } from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

const path = '/api/operator/mcp'
let upstream: ReturnType<typeof installUpstream>
let world: ReturnType<typeof createAuthWorld>
afterEach(() => upstream.restore())
beforeEach(() => {
  world = createAuthWorld()
  upstream = installUpstream(callsTool('each__say', { text: 'hello' }), world.answer)
})

/** A principal with a key of its own. */
async function principal(name: string) {
  const { key } = await callJson('/api/operator/keys', { json: { principal: name, role: 'user' } })
  const authorization = `Bearer ${key}`
  const json = (at: string, init: Parameters<typeof call>[1] = {}): Promise<Answer> =>
    callJson(at, { ...init, headers: { authorization } })
  return {
    ...signsIn(json),
    send: (at: string, init = {}) => call(at, { ...init, headers: { authorization } }),
  }
}

/** Requests of a principal at the server `each`. */
function signsIn(json: (at: string, init?: Parameters<typeof call>[1]) => Promise<Answer>) {
  const begin = async () => {
    const { url } = await json('/api/mcp/each/login', { json: {} })
    return new URL(url)
  }
  const signIn = async (): Promise<void> => {
    const back = await comeBack(await begin())
    const code = /--code (login_\w+)</.exec(await back.text())?.[1]
    expect(await json('/api/mcp/each/login/finish', { json: { code } })).toEqual({
      state: 'signed_in',
    })
  }
  return {
    begin,
    signIn,
    json,
    state: async () => (await json('/api/mcp/each/login')).state,
    logout: () => json('/api/mcp/each/login', { method: 'DELETE' }),
    /** One run, in which the tool of the server is called: what it answered, or why not. */
    async run(): Promise<string> {
      const { id } = await json('/api/sessions', { json: {} })
      const { result } = await json(`/api/sessions/${id}/runs`, {
        json: { task: 'go', wait: true },
      })
      return String(result.result)
    },
  }
}
const operator = signsIn(callJson)

/** What a browser does: it has no key. */
const comeBack = (page: URL, said = 'code=a-code&iss=https://auth.example.com') =>
  call(`/mcp/callback?${said}&state=${page.searchParams.get('state')}`, {
    headers: { authorization: '' },
  })

const objectOf = (...whose: readonly string[]) =>
  env.MCP_SERVER.getByName(systemSources.sha256(lengthPrefixed(['mcp', 'each', ...whose])))
const keptOf = (...whose: readonly string[]) =>
  runInDurableObject(objectOf(...whose), (_object, { storage }) =>
    [...storage.kv.list()].map(([key]) => key),
  )

/** Added, looked at by an operator who signed in, approved and enabled. */
async function enabled(): Promise<void> {
  const json = { id: 'each', url: world.server.url, auth: 'principal', replace: true }
  await callJson(path, { json })
  await operator.signIn()
  const { listing } = await callJson(`${path}/each/look`, { json: {} })
  await callJson(`${path}/each/approve`, { json: { hash: listing.hash, harmless: ['*'] } })
  await callJson(`${path}/each/enable`, { json: {} })
}
const records = async (type: string): Promise<readonly Answer[]> => {
  const all = await callJson('/api/operator/audit?session=deployment&limit=500')
  return all.records.filter((record: Answer) => record.type === type)
}

describe('T2: a server where each principal signs in', () => {
  it('is called as each of two principals, and nothing crosses', async () => {
    await enabled()
    const [ada, bob] = [await principal('ada'), await principal('bob')]
    world.server.seen.length = 0
    // The operator is signed in, and bob is not: there is no way from one to the other.
    expect(await bob.run()).toContain('isola mcp login each --mine')
    expect(world.server.seen).toEqual([])
    expect(await keptOf('bob')).toEqual([])
    await ada.signIn()
    expect(await ada.run()).toContain('say {\\"text\\":\\"hello\\"}')
    const ofAda = tokens()
    expect([await ada.state(), await bob.state()]).toEqual(['signed_in', 'signed_out'])
    expect(await bob.run()).toContain('isola mcp login each --mine')
    await bob.signIn()
    world.server.seen.length = 0
    expect(await bob.run()).toContain('hello')
    const ofBob = tokens()
    expect([ofAda.length, ofBob.length]).toEqual([1, 1])
    expect(ofBob).not.toEqual(ofAda)
    await ada.logout()
    expect(await keptOf('ada')).toEqual([])
    expect(await ada.run()).toContain('isola mcp login each --mine')
    expect(await bob.run()).toContain('hello')
    expect((await records('mcp_signed_in')).map((one) => one.principal)).toEqual(
      expect.arrayContaining(['operator', 'ada', 'bob']),
    )
    expect(await records('mcp_signed_out')).toMatchObject([
      { principal: 'ada', data: { server: 'each', owner: 'ada' } },
    ])
  })

  it('keeps nothing for those who never signed in, here and in the object of the server', async () => {
    await enabled()
    const carl = await principal('carl')
    const before = await keptOf()
    await carl.run()
    expect(await carl.state()).toBe('signed_out')
    expect(await carl.logout()).toEqual({ state: 'signed_out' })
    expect([await keptOf('carl'), await keptOf()]).toEqual([[], before])
  })

  it('T28: gives the code only to the principal who began', async () => {
    await enabled()
    const [dora, eve] = [await principal('dora'), await principal('eve')]
    const back = await comeBack(await dora.begin())
    expect(back.status).toBe(200)
    const code = /--code (login_\w+)</.exec(await back.text())?.[1]
    await eve.begin()
    const stolen = await eve.send('/api/mcp/each/login/finish', { json: { code } })
    expect(stolen.status).toBe(400)
    expect([await dora.state(), await eve.state()]).toEqual(['signed_out', 'signed_out'])
    expect(await dora.json('/api/mcp/each/login/finish', { json: { code } })).toEqual({
      state: 'signed_in',
    })
  })

  it('says that a sign-in was denied', async () => {
    await enabled()
    const finn = await principal('finn')
    const back = await comeBack(await finn.begin(), 'error=access_denied')
    expect([back.status, await back.text()]).toEqual([400, expect.stringContaining('was denied')])
    expect(await finn.json('/api/mcp/each/login')).toEqual({ state: 'signed_out', isDenied: true })
    expect(await records('mcp_sign_in_refused')).toMatchObject([
      { principal: 'finn', data: { refused: 'access_denied' } },
    ])
  })

  it('T16: leaves nothing of any principal when it is removed, or when a principal is forgotten', async () => {
    await enabled()
    const [gwen, hugo] = [await principal('gwen'), await principal('hugo')]
    await gwen.signIn()
    await hugo.signIn()
    const route = '/api/operator/principals/gwen/mcp-logins'
    expect(await callJson(route, { method: 'DELETE' })).toEqual({
      principal: 'gwen',
      servers: ['each'],
    })
    expect([await keptOf('gwen'), await hugo.state()]).toEqual([[], 'signed_in'])
    await callJson(`${path}/each`, { method: 'DELETE' })
    for (const whose of [['operator'], ['hugo'], []]) expect(await keptOf(...whose)).toEqual([])
    expect((await hugo.send('/api/mcp/each/login')).status).toBe(404)
  })

  it('I28: seals what each of them keeps anew with a rotation of the master key', async () => {
    await enabled()
    const ivy = await principal('ivy')
    await ivy.signIn()
    const key = 'mcp scope tokens'
    await runInDurableObject(objectOf('ivy'), (_object, { storage }) =>
      storage.kv.put(key, { name: key, sealed: 'v1.a.b', keyId: 'of-another-key' }),
    )
    const { current } = await callJson('/api/operator/secrets/rotate', { json: {} })
    expect(current).toBeGreaterThan(0)
    // An entry that no key opens is removed, and the entry of the sign-in can be opened.
    expect(await keptOf('ivy')).not.toContain(key)
    expect(await ivy.state()).toBe('signed_in')
  })
})

const tokens = () => [
  ...new Set(world.server.seen.map(({ headers }) => headers.get('authorization'))),
]
