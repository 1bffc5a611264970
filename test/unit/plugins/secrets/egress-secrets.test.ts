import { describe, expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import type { signatureScheme } from '#contracts/manifest/manifest.ts'
import { openCapabilities } from '../../../../src/features/plugins/capabilities/capabilities.ts'
import { bundle, createCapabilityDeps, loadOne } from '../../../fakes/plugins.ts'
import { createSecretWorld } from '../../../fakes/secret-world.ts'
import { readerOf } from '../../../fakes/secrets.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

const canary = 'cän/ary+&"0123 456'
const ascii = 'canary-0123456789'
const values = { TOKEN: ascii, OTHER: 'other-0123456789' }
const { ref: refOf } = createSecretWorld()
const ref = refOf('TOKEN')
const basic = (text: string) => `Basic ${btoa(text)}`
const url = 'https://api.example/'

describe('P24: the egress puts a secret where the grant says', () => {
  it('in the header that it names, wherever in it', async () => {
    const grants = [{ name: 'TOKEN', host: 'api.example', in: 'header' as const, at: 'X-Api-Key' }]
    const { fetch, requests } = createSecretWorld({ values, grants })
    await fetch(url, { headers: { 'x-api-key': `key ${ref};` } })
    expect(requests[0]?.headers).toMatchObject({ 'x-api-key': `key ${ascii};` })
  })

  it('in Authorization, of a grant from before grants named the header', async () => {
    const { fetch, requests } = createSecretWorld({ values })
    await fetch(url, { headers: { Authorization: `Bearer ${ref}` } })
    expect(requests[0]?.headers).toMatchObject({ authorization: `Bearer ${ascii}` })
  })

  it.each([
    [`user:${ref}`, `user:${ascii}`],
    [`${ref}:x-oauth-basic`, `${ascii}:x-oauth-basic`],
    [`${ref}:`, `${ascii}:`],
  ])('in basic authentication: %s', async (given, expected) => {
    const grants = [{ name: 'TOKEN', host: 'api.example', in: 'basic' as const }]
    const { fetch, requests } = createSecretWorld({ values, grants })
    await fetch(url, { headers: { Authorization: basic(given) } })
    expect(requests[0]?.headers['authorization']).toBe(basic(expected))
  })

  it('in path and query, percent-encoded: it can lead nowhere else', async () => {
    const host = 'api.example'
    const grants = [
      { name: 'TOKEN', host, in: 'path' as const, at: '/bot{}' },
      { name: 'OTHER', host, in: 'query' as const, at: 'key' },
    ]
    const hostile = '@evil.example/?#&='
    const { fetch, requests } = createSecretWorld({
      grants,
      values: { TOKEN: hostile, OTHER: hostile },
    })
    await fetch(`${url}bot${ref}/send?a=1&key=${refOf('OTHER')}`)
    const encoded = '%40evil.example%2F%3F%23%26%3D'
    expect(requests[0]?.url).toBe(`${url}bot${encoded}/send?a=1&key=${encoded}`)
  })

  it('with an event of who used which secret where, and never the value', async () => {
    const { fetch, events } = createSecretWorld({ values })
    await fetch(url, { headers: { authorization: `Bearer ${ref}` } })
    await fetch(url)
    const used = events.filter(({ type }) => type === 'secret_used')
    expect(used.map(({ data }) => data)).toEqual([
      {
        call: 'call_1',
        plugin: 'demo',
        tool: 'demo__go',
        secret: 'TOKEN',
        host: 'api.example',
        place: 'header authorization',
      },
    ])
    expect(JSON.stringify(events)).not.toContain(ascii)
  })

  it('and nothing where there is no placeholder', async () => {
    const { fetch, requests } = createSecretWorld({ values })
    await fetch(url, { headers: { 'x-key': 'isola-secret-token-end' } })
    expect(JSON.stringify(requests)).not.toContain(ascii)
  })
})

describe('T4: a text that only looks like a placeholder leaves as it is:', () => {
  const places = (['header', 'basic', 'path'] as const).map((place) => ({
    name: 'TOKEN',
    host: 'api.example',
    in: place,
    ...(place === 'path' && { at: '/{}' }),
  }))
  const older = createSecretWorld({ nonce: 'ref_0' }).ref('TOKEN')
  it.each([
    ['one that was guessed', 'isola-secret-TOKEN-end'],
    ['one without a nonce', 'isola-secret-TOKEN-'],
    ['one with a pattern for it', 'isola-secret-TOKEN-ref_.'],
    ['one of another call', older],
  ])('%s', async (_what, text) => {
    const { fetch, requests, refused } = createSecretWorld({ values, grants: places })
    const body = `said: ${text}`
    const headers = { 'x-said': text, authorization: basic(`me:${text}`) }
    await fetch(`${url}${text}?q=${text}#${text}`, { method: 'POST', headers, body })
    expect(requests).toMatchObject([{ url: `${url}${text}?q=${text}#${text}`, headers, body }])
    expect(refused()).toEqual([])
  })

  it('a placeholder that a plugin kept, in its next call', async () => {
    const requests: string[] = []
    const deps = createCapabilityDeps({
      readSecrets: readerOf(values),
      fetch: async (_url, { headers }) => {
        requests.push(new Headers(headers).get('authorization') ?? '')
        return new Response('ok')
      },
    })
    const plugin = loadOne(
      bundle({
        id: 'demo',
        grants: {
          network: [{ host: 'api.example', methods: ['GET'] }],
          secrets: [{ name: 'TOKEN', host: 'api.example', in: 'header' }],
        },
      }),
    )
    const [first, second] = [1, 2].map(
      () => openCapabilities(plugin, createToolContext(), deps).capabilities,
    )
    const kept = first!.secrets.ref('TOKEN')
    for (const { fetch } of [first!, second!])
      await fetch(url, { headers: { authorization: kept } })
    expect(requests).toEqual([ascii, kept])
  })

  it('beside one of this call, which is filled', async () => {
    const { fetch, requests } = createSecretWorld({ values })
    const headers = { authorization: `${ref} ${older}` }
    await fetch(url, { headers, method: 'POST', body: older })
    const filled = { authorization: `${ascii} ${older}` }
    expect(requests).toMatchObject([{ headers: filled, body: older }])
  })

  it('where a server redirects to it', async () => {
    const answers = [new Response(null, { status: 302, headers: { location: `/${older}` } })]
    const answer = () => answers.shift() ?? new Response('ok')
    const { fetch, requests } = createSecretWorld({ values, grants: places, answer })
    await fetch(url)
    expect(requests[1]?.url).toBe(`${url}${older}`)
  })
})

const authOf = (value: string) => ({ headers: { authorization: `Bearer ${value}` } })

describe('P22: a placeholder is refused, on the record and before anything is sent,', () => {
  const post = { method: 'POST' }
  it.each([
    ['of a secret that is not granted', url, authOf(refOf('OTHER')), 'OTHER'],
    ['for another host', 'https://other.example/', authOf(ref), 'TOKEN'],
    ['in another header', url, { headers: { 'x-note': ref } }, 'TOKEN in the header x-note'],
    ['twice', url, { headers: { authorization: `${ref} ${ref}` } }, 'TOKEN twice in a request'],
    ['in the path', `${url}${ref}`, {}, 'TOKEN'],
    ['in the query', `${url}?a=${ref}`, {}, 'TOKEN'],
    ['in the fragment', `${url}#${ref}`, {}, 'TOKEN'],
    ['in basic authentication', url, { headers: { authorization: basic(`u:${ref}`) } }, 'TOKEN'],
    ['in the body', url, { ...post, body: `token=${ref}` }, 'TOKEN in the body'],
    ['beside one that is right', url, { ...post, ...authOf(ref), body: ref }, 'TOKEN in the body'],
  ])('%s', async (_what, target, init, about) => {
    const { fetch, requests, refused } = createSecretWorld({ values })
    const secret = about.split(' ')[0]
    await expect(fetch(target, init)).rejects.toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining(`not granted: secret ${about}`) as string,
    })
    expect(requests).toEqual([])
    expect(refused()).toEqual([{ call: 'call_1', capability: 'secrets', secret }])
  })

  it('once a call for each secret, however often it is tried', async () => {
    const { fetch, refused } = createSecretWorld({ values })
    for (let tries = 0; tries < 3; tries += 1) await fetch(`${url}${ref}`).catch(() => {})
    expect(refused()).toHaveLength(1)
  })

  it.each([
    ['basic', authOf(ref)],
    ['path', authOf(ref)],
    ['hmac', authOf(ref)],
  ] as const)('where the grant says in: %s', async (place, init) => {
    const grant = { name: 'TOKEN', in: place, ...(place !== 'hmac' && { host: 'api.example' }) }
    const { fetch, requests, refused } = createSecretWorld({ values, grants: [grant] })
    await expect(fetch(url, init)).rejects.toThrow('not granted: secret TOKEN')
    expect([requests, refused()]).toMatchObject([[], [{ secret: 'TOKEN' }]])
  })

  it('for every host, where the grant says *', async () => {
    const grants = [{ name: 'TOKEN', host: '*', in: 'header' as const }]
    const { fetch } = createSecretWorld({ values, grants })
    await expect(fetch(url, authOf(ref))).rejects.toThrow('for api.example')
  })
})

describe('P22: a slot is one place:', () => {
  const host = 'api.example'
  const inPath = [{ name: 'TOKEN', host, in: 'path' as const, at: '/bot{}' }]
  const inQuery = [{ name: 'TOKEN', host, in: 'query' as const, at: 'key' }]

  it.each([
    ['with a method behind it', 'botTOKEN/sendMessage?text=hi'],
    ['alone', 'botTOKEN'],
  ])('a path %s', async (_what, path) => {
    const { fetch, requests } = createSecretWorld({ values, grants: inPath })
    await fetch(url + path.replace('TOKEN', ref))
    expect(requests[0]?.url).toBe(url + path.replace('TOKEN', ascii))
  })

  it.each([
    [
      'sent as the text of a message',
      'botTOKEN/sendMessage?chat_id=1&text=TOKEN',
      'the query text',
    ],
    ['alone in the query', 'bot1/sendMessage?text=TOKEN', 'the query text'],
    ['on another path', 'say/TOKEN', 'the path /say/{}'],
    ['further down', 'x/botTOKEN', 'the path /x/bot{}'],
    ['with something behind it', 'botTOKENx', 'the path /bot{}x'],
    ['twice in the path', 'botTOKEN/TOKEN', 'in the path /bot'],
  ])('a token of the path is refused %s', async (_what, path, place) => {
    const { fetch, requests } = createSecretWorld({ values, grants: inPath })
    await expect(fetch(url + path.replaceAll('TOKEN', ref))).rejects.toThrow(place)
    expect(requests).toEqual([])
  })

  it.each([
    ['under another name', '?note=TOKEN'],
    ['as a part of a value', '?key=aTOKEN'],
    ['as the name', '?TOKEN=key'],
    ['twice', '?key=TOKEN&key=TOKEN'],
    ['under a name that reads the same', '?%6bey=TOKEN'],
    ['in the path', 'key/TOKEN'],
  ])('a token of the query is refused %s', async (_what, path) => {
    const { fetch, requests } = createSecretWorld({ values, grants: inQuery })
    await expect(fetch(url + path.replaceAll('TOKEN', ref))).rejects.toThrow('not granted')
    expect(requests).toEqual([])
  })

  it('and a grant from before there were places says what plugin.yaml has to say', async () => {
    const old = (place: 'header' | 'path') => [{ name: 'TOKEN', host, in: place }]
    const inHeader = createSecretWorld({ values, grants: old('header') })
    await expect(inHeader.fetch(url, { headers: { 'X-Api-Key': ref } })).rejects.toThrow(
      'granted: header authorization). plugin.yaml has to say where, with at: x-api-key',
    )
    const somewhere = createSecretWorld({ values, grants: old('path') })
    await expect(somewhere.fetch(`${url}bot${ref}/send`)).rejects.toThrow('with at: /bot{}')
    expect([...inHeader.requests, ...somewhere.requests]).toEqual([])
  })
})

describe('a secret that is not there', () => {
  it('is an error that names the command', async () => {
    const { fetch, requests } = createSecretWorld()
    await expect(fetch(url, authOf(ref))).rejects.toThrow(
      'The secret TOKEN is not set. The operator sets it: isola secret set TOKEN',
    )
    expect(requests).toEqual([])
  })

  it.each([
    [
      new IsolaError('config_invalid', 'The secret TOKEN is damaged.'),
      'The secret TOKEN is damaged.',
    ],
    [new Error(`oops ${ascii}`), 'The secrets of the deployment could not be read.'],
  ])('F15: a table that cannot be read sends nothing: %s', async (error, message) => {
    const { fetch, requests } = createSecretWorld({ read: () => Promise.reject(error) })
    await expect(fetch(url)).rejects.toThrow(message)
    expect(requests).toEqual([])
  })

  it('T4: a value that no header can hold is told without the value', async () => {
    const { fetch } = createSecretWorld({ values: { TOKEN: `${ascii}\r\nx-evil: 1` } })
    const error: unknown = await fetch(url, authOf(ref)).catch((thrown: unknown) => thrown)
    expect(String(error)).toContain('no header may have')
    expect(String(error)).not.toContain('canary')
  })
})

describe('T4: a value that comes back does not reach the plugin', () => {
  const send = async (value: string, body: BodyInit, headers: HeadersInit = {}) => {
    const answer = () => new Response(body, { headers })
    const { fetch } = createSecretWorld({ values: { TOKEN: value }, answer })
    return fetch(url, { headers: { a: 'no placeholder needed' } })
  }
  const bytes = (text: string) => String.fromCharCode(...new TextEncoder().encode(text))

  it.each([
    ['as it is', (v: string) => v],
    ['in JSON', (v: string) => JSON.stringify({ v })],
    ['in JSON in JSON', (v: string) => JSON.stringify(JSON.stringify({ v }))],
    ['in JSON with slashes escaped', (v: string) => JSON.stringify(v).replaceAll('/', '\\/')],
    ['in ASCII JSON', (v: string) => JSON.stringify(v).replaceAll('ä', '\\u00e4')],
    ['percent-encoded', encodeURIComponent],
    [
      'percent-encoded, small',
      (v: string) => encodeURIComponent(v).replace(/%../g, (code) => code.toLowerCase()),
    ],
    ['as a form', (v: string) => new URLSearchParams({ v }).toString()],
    ['as an address', encodeURI],
    ['in HTML', (v: string) => v.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
    ['in base64', (v: string) => btoa(bytes(v))],
    ['in base64 after one byte', (v: string) => btoa(bytes(`:${v}`))],
    ['in base64 after two', (v: string) => btoa(bytes(`u:${v}`))],
    ['in base64 between others', (v: string) => btoa(bytes(`Bearer ${v} and more`))],
    ['in base64url', (v: string) => Buffer.from(`user:${v}`).toString('base64url')],
  ])('%s', async (_how, write) => {
    for (const value of [canary, ascii]) {
      const text = await (await send(value, `before ${write(value)} after`)).text()
      expect(text).toMatch(/^before .* after$/s)
      // Four characters in a row of any form are none of chance.
      const written = write(value)
      const start = written.indexOf(value.slice(4, 8))
      expect(text).not.toContain(write(value))
      if (start >= 0) expect(text).not.toContain(value.slice(4, 10))
      expect(Buffer.from(text, 'base64').toString()).not.toContain(value)
    }
  })

  it('as bytes that are taken for Latin-1, or in a reply that is', async () => {
    const mistaken = Buffer.from(canary).toString('latin1')
    expect(await (await send(canary, `a ${mistaken} b`)).text()).toBe('a [redacted] b')
    const body = Buffer.from(`a ${canary} b`, 'latin1')
    const left = Buffer.from(await (await send(canary, body)).arrayBuffer())
    expect(left.toString('latin1')).toBe('a [redacted] b')
  })

  it('in a header, nor in its name', async () => {
    const headers = {
      'x-echo': `a ${ascii} b`,
      'x-basic': basic(`u:${ascii}`),
      [`x-${ascii}`]: '1',
    }
    const answer = await send(ascii, '', { ...headers, 'x-other': 'stays' })
    const text = JSON.stringify([...answer.headers])
    expect(text).not.toMatch(/canary|Y2FuYX/)
    expect([answer.headers.get('x-echo'), answer.headers.get('x-other')]).toEqual([
      'a [redacted] b',
      'stays',
    ])
  })

  it('in the words of the status', async () => {
    const answer = () => new Response('', { status: 400, statusText: `Bad token ${ascii}` })
    const { fetch } = createSecretWorld({ values, answer })
    expect((await fetch(url)).statusText).toBe('Bad token [redacted]')
  })

  it('across pieces, cut at every byte', async () => {
    const whole = new TextEncoder().encode(`"${ascii}"`)
    for (let at = 1; at < whole.length; at += 1) {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(whole.slice(0, at))
          controller.enqueue(whole.slice(at))
          controller.close()
        },
      })
      expect(await (await send(ascii, body)).text()).toBe('"[redacted]"')
    }
  })

  it('from a host that the secret is not of, of a call that did not send it', async () => {
    const { fetch } = createSecretWorld({ values, answer: () => new Response(ascii) })
    expect(await (await fetch('https://other.example/')).text()).toBe('[redacted]')
  })

  it('in parts: a range is refused where there are secrets', async () => {
    const { fetch, requests } = createSecretWorld({ values })
    await expect(fetch(url, { headers: { Range: 'bytes=0-3' } })).rejects.toThrow('range')
    expect(requests).toEqual([])
  })

  it('and other bytes stay as they were', async () => {
    const body = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256)
    expect(new Uint8Array(await (await send(ascii, body)).arrayBuffer())).toEqual(body)
  })

  it('with more than 2 MiB, which is refused as ever', async () => {
    await expect(send(ascii, new Uint8Array(2_097_153))).rejects.toThrow('larger than 2 MiB')
  })

  it('in what is said of an answer that broke off', async () => {
    const body = new ReadableStream({ pull: () => Promise.reject(new Error(ascii)) })
    await expect(send(ascii, body)).rejects.toThrow('The answer broke off.')
  })

  it('and a reply never grows by it', async () => {
    const text = 'a'.repeat(50)
    expect(await (await send('a', text)).text()).toBe('*'.repeat(50))
  })
})

describe('a redirect', () => {
  const to = (
    location: string,
    status = 307,
    more: Parameters<typeof createSecretWorld>[0] = {},
  ) => {
    const { TOKEN } = values
    const first = new Response(null, { status, headers: { location } })
    const answers = [first]
    const answer = () => answers.shift() ?? new Response(`got ${TOKEN}`)
    return createSecretWorld({ values, answer, ...more })
  }
  const send = { headers: { authorization: `Bearer ${ref}` } }

  it('to the same host gets the secret anew', async () => {
    const { fetch, requests } = to('/next')
    expect(await (await fetch(url, send)).text()).toBe('got [redacted]')
    expect(requests.map(({ headers }) => headers['authorization'])).toEqual([
      `Bearer ${ascii}`,
      `Bearer ${ascii}`,
    ])
  })

  it('to another host gets neither the value nor the placeholder', async () => {
    const { fetch, requests } = to('https://other.example/')
    await fetch(url, send)
    expect(requests[1]).toMatchObject({ url: 'https://other.example/' })
    expect(JSON.stringify(requests[1])).not.toMatch(/canary|isola-secret/)
  })

  it('with basic authentication neither', async () => {
    const grants = [{ name: 'TOKEN', host: 'api.example', in: 'basic' as const }]
    const answers = [
      new Response(null, { status: 302, headers: { location: 'https://other.example/' } }),
    ]
    const answer = () => answers.shift() ?? new Response('ok')
    const { fetch, requests } = createSecretWorld({ values, grants, answer })
    await fetch(url, { headers: { authorization: basic(`u:${ref}`) } })
    expect(requests[1]?.headers).not.toHaveProperty('authorization')
  })

  it.each([
    ['a value', `https://other.example/?t=${ascii}`],
    ['a value in base64', `https://other.example/${btoa(`u:${ascii}`)}`],
    [
      'a value, every byte of it encoded',
      `https://other.example/${ascii.replace('c', '%63').replace('r', '%72')}`,
    ],
    ['a placeholder', `/bot${ref}`],
    ['a placeholder for another host', `https://other.example/${ref}`],
  ])('that holds %s for another place is refused, on the record', async (_what, location) => {
    const { fetch, requests, refused } = to(location)
    await expect(fetch(url, send)).rejects.toThrow(': refused.')
    expect(requests).toHaveLength(1)
    expect(refused()).toEqual([{ call: 'call_1', capability: 'secrets' }])
  })

  it.each([
    ['nobody may follow', { otherHost: '*', tier: 'builtin', mayFollow: async () => false }],
    ['nothing is granted', { otherHost: 'third.example' }],
  ] as const)('T4: that holds a value is refused without it where %s', async (_where, more) => {
    const { fetch, refused } = to(`https://other.example/?key=${ascii}`, 307, more)
    const error: unknown = await fetch(url, send).catch((thrown: unknown) => thrown)
    expect(String(error)).toMatch(/: refused\.$/)
    expect(String(error)).not.toContain(ascii)
    expect(refused()).toEqual([{ call: 'call_1', capability: 'secrets' }])
  })
})

describe('secrets.hmac and secrets.verify', () => {
  const grants = [{ name: 'TOKEN', in: 'hmac' as const }]
  const known = '5031fe3d989c6d1537a013fa6e739da23463fdaec3b70137d828e36ace221bd0'

  it('sign a text as the standards do (RFC 4231, 2104)', async () => {
    const { hmac, verify } = createSecretWorld({ grants, values: { TOKEN: 'key' } })
    expect(await hmac('TOKEN', 'data')).toBe(known)
    expect(await verify('TOKEN', 'data', known)).toBe(true)
    expect(await verify('TOKEN', 'data', known.toUpperCase())).toBe(true)
  })

  it.each([known.replace('5', '6'), known.slice(1), `${known}00`, '', 'x'.repeat(64), 7])(
    'do not take %s for a signature',
    async (signature) => {
      const { verify } = createSecretWorld({ grants, values: { TOKEN: 'key' } })
      expect(await verify('TOKEN', 'data', signature as string)).toBe(false)
      expect(await verify('TOKEN', 'other', known)).toBe(false)
    },
  )

  it.each([
    ['another secret', grants, 'OTHER'],
    [
      'one that is for a header',
      [{ name: 'TOKEN', host: 'a.example', in: 'header' as const }],
      'TOKEN',
    ],
    ['none', [], 'TOKEN'],
  ])('are refused on the record with %s', async (_what, granted, name) => {
    const { hmac, verify, refused } = createSecretWorld({ grants: granted, values })
    await expect(hmac(name, 'data')).rejects.toThrow(`not granted: secret ${name} in: hmac`)
    await expect(verify(name, 'data', known)).rejects.toThrow('not granted')
    expect(refused()).toEqual([{ call: 'call_1', capability: 'secrets', secret: name }])
  })

  it('name a secret that is not set, and refuse what is no text', async () => {
    const { hmac } = createSecretWorld({ grants })
    await expect(hmac('TOKEN', 'data')).rejects.toThrow('isola secret set TOKEN')
    await expect(hmac('TOKEN', {} as string)).rejects.toThrow('both are strings')
    await expect(hmac('TOKEN', 'x'.repeat(1_048_577))).rejects.toThrow('1 MiB')
  })
})

describe('secrets.sign and secrets.verifyRequest', () => {
  const grants = [{ name: 'TOKEN', in: 'hmac' as const, scheme: 'github' as const }]
  const world = (scheme: (typeof signatureScheme.options)[number] = 'github') =>
    createSecretWorld({ grants: [{ ...grants[0]!, scheme }], values })

  it('sign a webhook and know it again, by the scheme of the grant, and never give the value', async () => {
    const { sign, verifyRequest, events } = world()
    const headers = await sign('TOKEN', 'body')
    expect(Object.keys(headers)).toEqual(['x-hub-signature-256'])
    expect(await verifyRequest('TOKEN', { headers, body: 'body' })).toBe(true)
    expect(await verifyRequest('TOKEN', { headers, body: 'other' })).toBe(false)
    const used = { plugin: 'demo', tool: 'demo__go', secret: 'TOKEN', place: 'hmac github' }
    expect(events.map(({ data }) => data)).toEqual(
      [1, 2, 3].map(() => ({ call: 'call_1', ...used })),
    )
    expect(JSON.stringify([headers, events])).not.toContain(ascii)
  })

  it('are for these schemes only: who may check a webhook signs no other text', async () => {
    const { hmac, verify, refused } = world()
    await expect(hmac('TOKEN', 'text')).rejects.toThrow('it takes hex, base64')
    await expect(verify('TOKEN', 'text', '')).rejects.toThrow('plugin.yaml says github')
    expect(refused()).toEqual([{ call: 'call_1', capability: 'secrets', secret: 'TOKEN' }])
    await expect(world('hex').sign('TOKEN', 'x')).rejects.toThrow('plugin.yaml says hex')
    await expect(world('telegram').sign('TOKEN', 'x')).rejects.toThrow('signed over there')
  })

  it('write an HMAC as base64 where the grant says so', async () => {
    const { hmac, verify } = world('base64')
    const signature = await hmac('TOKEN', 'data')
    expect(signature).toMatch(/^[A-Za-z0-9+/]{43}=$/)
    expect(await verify('TOKEN', 'data', signature)).toBe(true)
    expect(await verify('TOKEN', 'data', signature.replace('=', ''))).toBe(false)
  })

  it.each([null, {}, { headers: { a: 1 }, body: '' }, { headers: {}, body: 1 }])(
    'refuse what is no request: %j',
    async (request) => {
      await expect(world().verifyRequest('TOKEN', request as never)).rejects.toThrow('text')
    },
  )
})
