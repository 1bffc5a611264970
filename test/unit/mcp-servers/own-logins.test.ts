import { describe, expect, it, vi } from 'vitest'
import { createOwnLoginWorld, self } from '../../fakes/mcp-own-logins.ts'
import { here } from '../../fakes/mcp-sign-in.ts'

const tokensAt = ({ server }: ReturnType<typeof createOwnLoginWorld>) =>
  server.seen.map(({ headers }) => headers.get('authorization'))

describe('T2: a server where each principal signs in', () => {
  it('asks with the token of the principal who looks, and with no other', async () => {
    const world = createOwnLoginWorld()
    await world.signIn('ada')
    await world.signIn('bob')
    world.server.seen.length = 0
    expect(await world.look('ada')).toMatchObject({ ok: true })
    const ofAda = new Set(tokensAt(world))
    world.server.seen.length = 0
    expect(await world.look('bob')).toMatchObject({ ok: true })
    const ofBob = new Set(tokensAt(world))
    expect([ofAda.size, ofBob.size]).toEqual([1, 1])
    expect([...ofAda]).not.toEqual([...ofBob])
  })

  it('tells a principal without a sign-in the command, sends nothing, stores nothing, and goes on for the others', async () => {
    const world = createOwnLoginWorld()
    await world.signIn('ada')
    world.asked.length = 0
    for (let count = 0; count < 10; count += 1)
      expect(await world.call('bob')).toEqual({
        ok: false,
        error: {
          code: 'tool_failed',
          message: expect.stringContaining('isola mcp login srv --mine'),
        },
      })
    expect(await world.look('bob')).toMatchObject({ ok: false })
    expect(await world.stateOf('bob')).toBe('signed_out')
    expect(world.asked).toEqual([])
    expect([...world.keptOf('bob').keys()]).toEqual([])
    expect(await world.look('ada')).toMatchObject({ ok: true })
    await world.signIn('bob')
    expect(await world.look('bob')).toMatchObject({ ok: true })
  })

  it('sends nothing of the deployment in place of a token that is gone', async () => {
    const world = createOwnLoginWorld({ about: { headers: { 'X-Team': 'of-the-deployment' } } })
    await world.signIn('ada')
    expect(await world.look('ada')).toMatchObject({ ok: true })
    // The token goes between the check of the sign-in and the request: a renewal failed, say.
    const before = new Map(world.keptOf('ada'))
    world.asked.length = 0
    let reads = 0
    vi.spyOn(world.keptOf('ada'), 'get').mockImplementation((key) => {
      if (key.includes(' tokens ') && (reads += 1) > 1) return undefined
      return before.get(key)
    })
    expect(await world.look('ada')).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('isola mcp login srv --mine') },
    })
    expect(reads).toBeGreaterThan(1)
    expect(world.asked).toEqual([])
  })

  it('has no way to the sign-in of the deployment, nor the deployment to that of a principal', async () => {
    const world = createOwnLoginWorld()
    await world.signIn('ada')
    expect(await world.at('srv').standing(world.config)).toEqual({ login: 'signed_out' })
    const rows = [...world.keptOf()].filter(([key]) => !key.startsWith('signer '))
    expect(rows).toEqual([])
    await expect(world.mcp.login('srv', here)).rejects.toMatchObject({
      code: 'request_conflict',
      message: expect.stringContaining('isola mcp login srv --mine'),
    })
  })

  it("keeps what it keeps sealed, so that in another principal's object it opens nothing", async () => {
    const world = createOwnLoginWorld()
    await world.signIn('ada')
    expect(JSON.stringify([...world.keptOf('ada')])).not.toContain('token-number')
    for (const [key, value] of world.keptOf('ada')) world.keptOf('bob').set(key, value)
    expect(await world.stateOf('bob')).toBe('signed_out')
  })

  it('is for those who may know of it, and says what the others are for', async () => {
    const world = createOwnLoginWorld()
    world.rows.set('srv', { ...world.row, state: 'disabled' })
    await expect(world.own.begin('srv', self('ada'), here)).rejects.toMatchObject({
      code: 'request_not_found',
    })
    await expect(world.own.show('none', self('ada'))).rejects.toMatchObject({
      code: 'request_not_found',
    })
    expect(await world.own.show('srv', self('ada', 'operator'))).toEqual({ state: 'signed_out' })
    for (const auth of ['oauth', 'headers'] as const) {
      world.rows.set('srv', { ...world.row, config: { ...world.config, auth } })
      await expect(world.own.begin('srv', self('ada'), here)).rejects.toMatchObject({
        code: 'request_conflict',
      })
    }
    expect([...world.keptOf()]).toEqual([])
  })
})

describe('T28: a sign-in of a principal', () => {
  it('ends where it was begun: with the code, once, and for no other principal', async () => {
    const world = createOwnLoginWorld()
    await world.begin('mallory')
    const page = await world.begin('ada')
    const query = world.allowed(page)
    const back = await world.mcp.finishLogin(query)
    expect(back).toEqual({
      server: 'srv',
      state: 'code',
      code: expect.stringMatching(/^login_[0-9A-Za-z]{22}$/),
    })
    const code = back.state === 'code' ? back.code : ''
    // What the browser brought is not enough.
    expect(await world.stateOf('ada')).toBe('signed_out')
    await expect(world.own.finish('srv', self('mallory'), code)).rejects.toMatchObject({
      code: 'request_invalid',
    })
    await expect(world.mcp.finishLogin(query)).rejects.toMatchObject({ code: 'request_invalid' })
    await expect(
      world.own.finish('srv', self('ada'), 'login_0000000000000000000000'),
    ).rejects.toMatchObject({ code: 'request_invalid' })
    await world.own.finish('srv', self('ada'), code)
    expect(await world.stateOf('ada')).toBe('signed_in')
    expect(await world.stateOf('mallory')).toBe('signed_out')
    await expect(world.own.finish('srv', self('ada'), code)).rejects.toMatchObject({
      code: 'request_invalid',
    })
    expect(world.signedInOf('ada')).toEqual([{ server: 'srv', principal: 'ada' }])
  })

  it('has a state that says nothing of who it is', async () => {
    const world = createOwnLoginWorld()
    const page = await world.begin('ada')
    expect(page.searchParams.get('state')).toMatch(
      /^srv\.login_[0-9A-Za-z]{22}\.login_[0-9A-Za-z]{22}$/,
    )
    expect(page.href).not.toContain('ada')
  })

  it.each([
    [
      'of nobody',
      (state: string) => state.replace(/\.login_\w+\./, '.login_0000000000000000000000.'),
    ],
    ['without the principal', (state: string) => state.replace(/\.login_\w+\./, '.')],
    [
      'of another sign-in',
      (state: string) => state.replace(/\w+$/, 'login_0000000000000000000000'),
    ],
    ['with no secret', (state: string) => state.replace(/\w+$/, '')],
  ])('refuses a state %s', async (_what, broken) => {
    const world = createOwnLoginWorld()
    const page = await world.begin('ada')
    page.searchParams.set('state', broken(page.searchParams.get('state') ?? ''))
    await expect(world.mcp.finishLogin(world.allowed(page))).rejects.toMatchObject({
      code: 'request_invalid',
    })
  })

  it.each([
    ['the browser comes back', 0],
    ['the code is said', 1],
  ])('is over after a quarter of an hour, when %s', async (_what, steps) => {
    const world = createOwnLoginWorld()
    const query = world.allowed(await world.begin('ada'))
    const back = steps === 1 ? await world.mcp.finishLogin(query) : undefined
    world.later(15 * 60_000)
    const rest = back
      ? world.own.finish('srv', self('ada'), back.state === 'code' ? back.code : '')
      : world.mcp.finishLogin(query)
    await expect(rest).rejects.toMatchObject({ code: 'request_invalid' })
    expect(await world.stateOf('ada')).toBe('signed_out')
  })

  it('says that it was denied, on the record too, and may be begun again', async () => {
    const world = createOwnLoginWorld()
    const page = await world.begin('ada')
    const state = page.searchParams.get('state')
    expect(await world.mcp.finishLogin(`?error=access_denied&state=${state}`)).toEqual({
      server: 'srv',
      state: 'denied',
    })
    expect(await world.own.show('srv', self('ada'))).toEqual({
      state: 'signed_out',
      isDenied: true,
    })
    expect(world.signedInOf('ada')).toEqual([
      { server: 'srv', refused: 'access_denied', principal: 'ada' },
    ])
    await world.signIn('ada')
    expect(await world.own.show('srv', self('ada'))).toEqual({ state: 'signed_in' })
  })

  it('is refused where the authorization server gives no token for it', async () => {
    const world = createOwnLoginWorld({
      token: () => Response.json({ error: 'invalid_grant' }, { status: 400 }),
    })
    await expect(world.signIn('ada')).rejects.toMatchObject({ code: 'request_unavailable' })
    expect(await world.stateOf('ada')).toBe('signed_out')
    expect(world.signedInOf('ada')).toMatchObject([{ refused: 'tool_failed', principal: 'ada' }])
  })
})

describe('T16: the stored sign-in of a principal at a server', () => {
  it('is gone with a logout, of that one alone, and on the record', async () => {
    const world = createOwnLoginWorld()
    await world.signIn('ada')
    await world.signIn('bob')
    for (let count = 0; count < 2; count += 1) await world.own.end('srv', self('ada'))
    expect([...world.keptOf('ada')]).toEqual([])
    await expect(
      world.own.finish('srv', self('carl'), 'login_0000000000000000000000'),
    ).rejects.toMatchObject({ code: 'request_invalid' })
    expect(await world.stateOf('bob')).toBe('signed_in')
    expect(await world.at('srv').signers()).toMatchObject([{ principal: 'bob' }])
    expect(world.told).toEqual([
      {
        type: 'mcp_signed_out',
        data: { server: 'srv', owner: 'ada', request: 'req_1' },
        by: 'ada',
      },
    ])
  })

  it('ends what is under way with the logout, of that one alone', async () => {
    const world = createOwnLoginWorld()
    await world.signIn('ada')
    await world.signIn('bob')
    const seen = await world.look('ada')
    const [item] = seen.ok ? seen.value.items : []
    const goOn = Promise.withResolvers<void>()
    const reached = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let count = 0
    world.happens.atNetwork = async (request) => {
      if (!(await request.clone().text()).includes('tools/call')) return
      reached[count]?.resolve()
      count += 1
      await goOn.promise
    }
    const ofAda = world.call('ada', item)
    await reached[0]?.promise
    const ofBob = world.call('bob', item)
    await reached[1]?.promise
    await world.own.end('srv', self('ada'))
    expect(await ofAda).toMatchObject({ ok: false, error: { code: 'tool_cancelled' } })
    goOn.resolve()
    expect(await ofBob).toMatchObject({ ok: true })
  })

  it('is nothing where a sign-in did not come as far as a page, and stays where there was one', async () => {
    const world = createOwnLoginWorld({
      resource: { authorization_servers: ['https://evil.example.org'] },
    })
    await expect(world.own.begin('srv', self('ada'), here)).rejects.toMatchObject({
      code: 'request_unavailable',
    })
    for (const whose of ['ada', undefined]) expect([...world.keptOf(whose)]).toEqual([])
    const other = createOwnLoginWorld()
    await other.signIn('ada')
    other.happens.atNetwork = async () => {
      throw new TypeError('the server is away')
    }
    await expect(other.own.begin('srv', self('ada'), here)).rejects.toMatchObject({
      code: 'request_unavailable',
    })
    expect(await other.stateOf('ada')).toBe('signed_in')
  })

  it('is gone when the server is removed, also where that was cut and is done again', async () => {
    const world = createOwnLoginWorld()
    await world.signIn('ada')
    await world.signIn('bob')
    vi.spyOn(world.keptOf('bob'), 'clear').mockImplementationOnce(() => {
      throw new Error('away')
    })
    await expect(world.remove()).rejects.toThrow('away')
    // The row is gone already: that says so, and takes away what is left.
    await expect(world.remove()).rejects.toMatchObject({ code: 'request_not_found' })
    for (const whose of ['ada', 'bob', undefined]) expect([...world.keptOf(whose)]).toEqual([])
  })

  it('is gone when an operator has a principal forgotten', async () => {
    const world = createOwnLoginWorld()
    await world.signIn('ada')
    await world.signIn('bob')
    const by = self('operator', 'operator')
    expect(await world.mcp.forget('ada', by)).toEqual(['srv'])
    expect(await world.mcp.forget('ada', by)).toEqual([])
    expect([...world.keptOf('ada')]).toEqual([])
    expect(await world.stateOf('bob')).toBe('signed_in')
    expect(world.told).toMatchObject([{ data: { owner: 'ada' }, by: 'operator' }])
  })

  /** The network waits with what is asked of this path, until it is let go on. */
  function waitingAt(world: ReturnType<typeof createOwnLoginWorld>, path: string) {
    const reached = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    world.happens.atNetwork = async (request) => {
      if (new URL(request.url).pathname !== path) return
      reached.resolve()
      await goOn.promise
    }
    return { reached: reached.promise, goOn: goOn.resolve }
  }

  it('is not brought back by a renewal that comes after the logout', async () => {
    const world = createOwnLoginWorld()
    await world.signIn('ada')
    world.tokens.clear()
    const { reached, goOn } = waitingAt(world, '/token')
    const looking = world.look('ada')
    await reached
    const ending = world.own.end('srv', self('ada'))
    goOn()
    await Promise.all([looking, ending])
    expect([...world.keptOf('ada')]).toEqual([])
    expect(await world.stateOf('ada')).toBe('signed_out')
  })

  it('is not begun by a sign-in whose code comes while the server is removed', async () => {
    const world = createOwnLoginWorld()
    const back = await world.mcp.finishLogin(world.allowed(await world.begin('ada')))
    const { reached, goOn } = waitingAt(world, '/token')
    const code = back.state === 'code' ? back.code : ''
    const finishing = world.own.finish('srv', self('ada'), code)
    finishing.catch(() => {})
    await reached
    await world.remove()
    goOn()
    await expect(finishing).rejects.toMatchObject({ code: 'request_not_found' })
    for (const whose of ['ada', undefined]) expect([...world.keptOf(whose)]).toEqual([])
    expect(world.signedInOf('ada')).toMatchObject([{ refused: 'request_invalid' }])
  })

  it('is not left by a sign-in that was begun while its principal signed out', async () => {
    const world = createOwnLoginWorld()
    await world.signIn('ada')
    world.tokens.clear()
    const { reached, goOn } = waitingAt(world, '/token')
    const beginning = world.own.begin('srv', self('ada'), here)
    beginning.catch(() => {})
    await reached
    await world.own.end('srv', self('ada'))
    goOn()
    await expect(beginning).rejects.toMatchObject({ code: expect.stringMatching(/^request_/) })
    for (const whose of ['ada', undefined]) expect([...world.keptOf(whose)]).toEqual([])
  })

  it('is not left by a sign-in that was begun while the server was replaced', async () => {
    const world = createOwnLoginWorld()
    const { reached, goOn } = waitingAt(world, '/register')
    const beginning = world.own.begin('srv', self('ada'), here)
    beginning.catch(() => {})
    await reached
    world.rows.set('srv', { ...world.row, addedAtMs: 2 })
    goOn()
    await expect(beginning).rejects.toMatchObject({ code: 'request_not_found' })
    for (const whose of ['ada', undefined]) expect([...world.keptOf(whose)]).toEqual([])
  })
})
