import { describe, expect, it } from 'vitest'
import { createMcpObject } from '../../fakes/mcp-object.ts'
import { createAuthWorld, here } from '../../fakes/mcp-sign-in.ts'

/** The object of a server after a sign-in, and a network that waits with a renewal until it is let go on. */
async function signedIn() {
  const world = createAuthWorld()
  const renewing = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const { object, kept } = createMcpObject(async (request) => {
    const isRenewal =
      new URL(request.url).pathname === '/token' &&
      (await request.clone().text()).includes('refresh_token')
    if (isRenewal) {
      renewing.resolve()
      await goOn.promise
    }
    return world.answer(request)
  })
  const begun = await object.login(world.config, here)
  if (!begun.ok || begun.value.state !== 'open') throw new Error(JSON.stringify(begun))
  const state = new URL(begun.value.url).searchParams.get('state')
  const query = `?code=a-code&state=${state}&iss=https://auth.example.com`
  expect(await object.finishLogin(world.config, query)).toMatchObject({ ok: true })
  return { ...world, object, kept, renewing, goOn }
}

describe('T16: a server that is removed', () => {
  it('keeps no token that was being renewed just then, nor anything else that comes back late', async () => {
    const { object, config, tokens, kept, renewing, goOn } = await signedIn()
    expect(await object.look(config)).toMatchObject({ ok: true })
    // The server takes the first token no more: the next one is asked for.
    tokens.clear()
    const looking = object.look(config)
    await renewing.promise
    const gone = object.forget()
    goOn.resolve()
    await Promise.all([looking, gone])
    expect([...kept.keys()]).toEqual([])
    expect(await object.standing(config)).toEqual({ login: 'signed_out' })
  })

  it('takes a sign-in again, once that is over', async () => {
    const { object, config, kept } = await signedIn()
    await object.forget()
    expect(kept.size).toBe(0)
    expect(await object.login(config, here)).toMatchObject({ value: { state: 'open' } })
    expect(kept.size).toBeGreaterThan(0)
  })
})
