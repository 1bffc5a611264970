import { describe, expect, test } from 'vitest'
import type { EventDraft } from '#contracts/event.ts'
import { verdictOf } from '#runtime/kernel/types/label-rules.ts'
import { joinLabels, labelFrom } from '#contracts/label.ts'
import type { RequestedGrants, TrustTier } from '#contracts/manifest/manifest.ts'
import { createCallSecrets } from '../../../../src/features/plugins/secrets/call-secrets.ts'
import { readerOf } from '../../../fakes/secrets.ts'
import type { Carrier } from '#contracts/outbound.ts'
import {
  createEgress,
  type EgressOptions,
} from '../../../../src/features/plugins/capabilities/egress.ts'
import { createCallLabels } from '../../../../src/features/plugins/capabilities/plugin-flow.ts'
import { sendOver } from '../../../fakes/outbound.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

interface Setup {
  readonly grants?: RequestedGrants['network']
  readonly tier?: TrustTier
  readonly isDevelopment?: boolean
  readonly isLate?: boolean
  readonly openNow?: EgressOptions['openNow']
  readonly mayFollow?: EgressOptions['mayFollow']
  readonly onRedirect?: EgressOptions['onRedirect']
  readonly answer?: (url: string, init: RequestInit) => Response | Promise<Response>
}

const anyHost: RequestedGrants['network'] = [
  { host: '*', methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] },
]

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

function setUp({
  grants = anyHost,
  tier = 'builtin',
  isDevelopment = false,
  isLate = false,
  openNow = async () => () => true,
  mayFollow = async () => true,
  onRedirect,
  answer = () => new Response('ok'),
}: Setup = {}) {
  const requests: {
    url: string
    method: string
    headers: Record<string, string>
    body: unknown
  }[] = []
  const events: EventDraft[] = []
  const controller = new AbortController()
  const platformFetch: Carrier = async (url, init) => {
    expect(init.redirect).toBe('manual')
    requests.push({
      url,
      method: init.method!,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: init.body,
    })
    return answer(url, init)
  }
  const fetch = createEgress({
    grants,
    tier,
    openNow,
    mayFollow,
    onRedirect,
    send: sendOver(platformFetch, {
      isDevelopment,
      sleep: () => (isLate ? Promise.resolve() : new Promise(() => {})),
    }),
    emit: (event) => events.push(event),
    secrets: createCallSecrets(
      [],
      { call: 'call_1', emit: () => {}, plugin: 'demo' },
      { readSecrets: readerOf({}), ids: { next: () => 'ref_1' }, clock: { nowMs: () => 0 } },
    ),
    idempotencyKey: 'key_1',
    traceparent,
    signal: controller.signal,
  })
  return { fetch, requests, events, controller }
}

const redirect = (location: string, status = 302) =>
  new Response(null, { status, headers: { location } })

const notPublic = [
  'http://example.com/',
  'https://example.com:8443/',
  'https://user@example.com/',
  'https://user:pw@example.com/',
  'https://:pw@example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'data:text/plain,x',
  'javascript:alert(1)',
  'ws://example.com/',
  '//example.com',
  'example.com',
  '',
  'https://',
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://api.localhost/',
  'https://router.local/',
  'https://metadata.google.internal/',
  'https://intranet/',
  'https://printer.lan/',
  'https://nas.home.arpa/',
  'https://127.0.0.1.nip.io/',
  'https://10-0-0-1.sslip.io/',
  'https://localtest.me/',
  'https://127.0.0.1/',
  'https://127.1/',
  'https://127.0.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://127.0.0.1./',
  'https://127.255.255.254/',
  'https://①②⑦.0.0.1/',
  'https://127%2e0.0.1/',
  'https://0/',
  'https://0.0.0.0/',
  'https://0.1.2.3/',
  'https://10.0.0.1/',
  'https://10.255.255.255/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.168.1.1/',
  'https://3232235777/',
  'https://0xc0a80101/',
  'https://169.254.169.254/latest/meta-data/',
  'https://2852039166/',
  'https://100.64.0.1/',
  'https://100.127.255.255/',
  'https://192.0.0.1/',
  'https://192.0.2.1/',
  'https://198.18.0.1/',
  'https://198.19.255.255/',
  'https://198.51.100.1/',
  'https://203.0.113.1/',
  'https://192.88.99.1/',
  'https://224.0.0.1/',
  'https://239.255.255.255/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://[::]/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b::8.8.8.8]/',
  'https://[64:ff9b:1::1]/',
  'https://[fc00::1]/',
  'https://[fd12:3456::1]/',
  'https://[fe80::1]/',
  'https://[fe80::1%25eth0]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
  'https://[2001:db8::1]/',
  'https://[2001::1]/',
  'https://[2002:7f00:1::]/',
  'https://[3fff::1]/',
  'https://[100::1]/',
  'https://[5f00::1]/',
  'https://example.com\\@127.0.0.1/',
  'https://127.0.0.1\\@example.com/',
  'https://exa mple.com/',
  'https://168.63.129.16/',
  'https://168.63.129.16./metadata',
  'https://0xa83f8110/',
  'https://100.100.100.200/latest/meta-data/',
  'https://192.0.0.192/opc/v1/',
  'https://192.31.196.1/',
  'https://192.52.193.1/',
  'https://192.175.48.1/',
  'https://[fd00:ec2::254]/',
  'https://[fd20:ce::254]/',
  'https://[2001:2::1]/',
  'https://[2001:20::1]/',
  'https://[2620:4f:8000::1]/',
  'https://metadata.goog/',
  'https://METADATA.goog./computeMetadata/v1/',
  'https://metadata/',
  'https://instance-data/',
  'https://instance-data.ec2.internal/',
  'https://metadata.tencentyun.com/',
  'https://api.metadata.cloud.ibm.com/',
  'https://kubernetes/',
  'https://kubernetes.default/',
  'https://kubernetes.default.svc/',
  'https://kubernetes.default.svc./',
  'https://kubernetes.default.svc.cluster.local/',
  'https://coredns.kube-system/',
  'https://vault.service.consul/',
  'https://host.docker.internal/',
  'https://resolver.arpa/',
  'https://ipv4only.arpa/',
  'https://1.0.0.127.in-addr.arpa/',
  'https://hidden.onion/',
  'https://name.alt/',
  'https://me.test/',
  'https://me.invalid/',
  'https://wpad.corp/',
  'https://7f000001.0a000001.rbndr.us/',
  'https://192-168-1-1.abc.plex.direct/',
  'https://256.256.256.256/',
  'https://1.2.3.4.5/',
]

describe('hosts', () => {
  test('the list of hostile forms has at least 40', () =>
    expect(notPublic.length).toBeGreaterThanOrEqual(40))

  test.each(notPublic)('refuses %s without a request', async (url) => {
    if (url === 'https://example.com\\@127.0.0.1/') return // parsed as example.com with a path; covered below
    const { fetch, requests } = setUp()
    await expect(fetch(url)).rejects.toMatchObject({ code: 'tool_failed' })
    expect(requests).toEqual([])
  })

  test('a backslash ends the host as the URL standard says', async () => {
    const { fetch, requests } = setUp()
    await fetch('https://example.com\\@127.0.0.1/')
    expect(requests[0]?.url).toBe('https://example.com/@127.0.0.1/')
  })

  test.each([
    'https://example.com/a?b#c',
    'https://example.com:443/',
    'https://EXAMPLE.com/',
    'https://8.8.8.8/',
    'https://100.63.255.255/',
    'https://172.32.0.1/',
    'https://[2606:4700::1111]/',
    'https://münchen.de/',
    'https://例え.テスト.jp/',
    'https://пример.рф/',
    'https://168.63.129.15/',
    'https://metadata.google.com/',
    'https://svc.example.com/',
    'https://internal.example.com/',
    'https://a_b.example.com/',
  ])('reaches %s', async (url) => expect((await setUp().fetch(url)).status).toBe(200))
})

describe('grants', () => {
  const one: RequestedGrants['network'] = [{ host: 'api.example.com', methods: ['GET'] }]

  test('the granted host and method pass', async () => {
    expect((await setUp({ grants: one }).fetch('https://api.example.com/x')).ok).toBe(true)
  })

  test.each([
    ['another host', 'https://example.com/', 'GET'],
    ['a host below it', 'https://a.api.example.com/', 'GET'],
    ['a host that ends like it', 'https://evil-api.example.com/', 'GET'],
    ['the host with a dot', 'https://api.example.com./', 'GET'],
    ['another method', 'https://api.example.com/', 'POST'],
    ['a method in lower-case', 'https://api.example.com/', 'delete'],
    ['a strange method', 'https://api.example.com/', 'TRACE'],
  ])('%s is not granted', async (_what, url, method) => {
    const { fetch, requests } = setUp({ grants: one })
    await expect(fetch(url, { method })).rejects.toThrow(
      /not granted: network .* \(add it to grants in plugin.yaml\)/,
    )
    expect(requests).toEqual([])
  })

  test.each(['trusted', 'community'] as const)('`*` means nothing for tier %s', async (tier) => {
    await expect(setUp({ tier }).fetch('https://example.com/')).rejects.toThrow('not granted')
  })
})

describe('loopback', () => {
  const local = [
    'http://localhost:8080/',
    'http://127.0.0.1:3000/x',
    'http://[::1]:9/',
    'http://localhost/',
  ]
  test.each(local)('%s is reached in development', async (url) => {
    expect((await setUp({ isDevelopment: true }).fetch(url)).ok).toBe(true)
  })
  test.each(local)('%s is refused otherwise', async (url) => {
    await expect(setUp().fetch(url)).rejects.toThrow('refused')
  })
  test.each([
    'http://127.1:80/',
    'http://2130706433/',
    'http://0x7f000001:8787/',
    'http://127.0.0.2/',
    'http://[::ffff:127.0.0.1]/',
    'http://0.0.0.0:8787/',
    'http://localhost.:8787/',
    'http://user@localhost/',
    'http://10.0.0.1/',
    'http://example.com/',
  ])('%s is refused in development too', async (url) => {
    const { fetch, requests } = setUp({ isDevelopment: true })
    await expect(fetch(url)).rejects.toThrow()
    expect(requests).toEqual([])
  })
  test('it needs its grant as any host does', async () => {
    await expect(
      setUp({ isDevelopment: true, grants: [{ host: 'example.com', methods: ['GET'] }] }).fetch(
        'http://localhost:1/',
      ),
    ).rejects.toThrow('not granted')
  })
  const granted = (host: string) =>
    setUp({ isDevelopment: true, tier: 'community', grants: [{ host, methods: ['GET'] }] })
  test.each([
    ['127.0.0.1:3000', 'http://127.0.0.1:3000/x'],
    ['localhost:8080', 'http://localhost:8080/'],
    ['LOCALHOST:8080', 'http://localhost:8080/'],
    ['[::1]:9', 'http://[::1]:9/'],
    ['localhost', 'http://localhost/'],
    ['localhost', 'http://localhost:80/'],
    ['localhost', 'https://localhost:443/'],
    ['example.com', 'https://example.com:443/'],
  ])('P5: a grant of %s is one of %s', async (host, url) => {
    expect((await granted(host).fetch(url)).ok).toBe(true)
  })
  test.each([
    ['127.0.0.1:3000', 'http://127.0.0.1:3001/'],
    ['127.0.0.1:3000', 'http://127.0.0.1/'],
    ['127.0.0.1:3000', 'http://localhost:3000/'],
    ['localhost', 'http://localhost:6379/'],
    ['127.0.0.1', 'http://127.0.0.1:22/'],
    ['[::1]', 'http://[::1]:9/'],
    ['localhost:80', 'http://localhost:8080/'],
  ])('P5: a grant of %s is none of %s: another port is another program', async (host, url) => {
    const { fetch, requests } = granted(host)
    await expect(fetch(url)).rejects.toThrow(`not granted: network GET ${new URL(url).host}`)
    expect(requests).toEqual([])
  })
  test('a page outside cannot redirect there', async () => {
    const { fetch, requests } = setUp({
      isDevelopment: true,
      answer: () => redirect('http://localhost:8787/api'),
    })
    await expect(fetch('https://example.com/')).rejects.toThrow('redirect from outside')
    expect(requests).toHaveLength(1)
  })
})

describe('redirects', () => {
  const chain = (
    locations: readonly (readonly [string, number])[],
    answer = new Response('end'),
  ) => {
    let hop = 0
    return () => {
      const next = locations[hop]
      hop += 1
      return next ? redirect(next[0], next[1]) : answer
    }
  }

  test('five are followed, relative ones too', async () => {
    const { fetch, requests } = setUp({
      answer: chain([
        ['/1', 301],
        ['2', 302],
        ['https://b.example/3', 303],
        ['/4', 307],
        ['/5', 308],
      ]),
    })
    expect(await (await fetch('https://a.example/x/y')).text()).toBe('end')
    expect(requests.map(({ url }) => url)).toEqual([
      'https://a.example/x/y',
      'https://a.example/1',
      'https://a.example/2',
      'https://b.example/3',
      'https://b.example/4',
      'https://b.example/5',
    ])
  })

  test('the sixth is one too many', async () => {
    const { fetch, requests } = setUp({ answer: () => redirect('/again') })
    await expect(fetch('https://a.example/')).rejects.toThrow('More than 5 redirects')
    expect(requests).toHaveLength(6)
  })

  test.each([
    'http://a.example/',
    'https://169.254.169.254/',
    'https://10.0.0.1/',
    'https://a.example:8443/',
    'https://u:p@a.example/',
    'file:///etc/passwd',
    'https://[::1]/',
    'http://',
    '//2130706433/',
  ])('one to %s is refused like a first request', async (location) => {
    const { fetch, requests } = setUp({ answer: () => redirect(location) })
    await expect(fetch('https://a.example/')).rejects.toMatchObject({ code: 'tool_failed' })
    expect(requests).toHaveLength(1)
  })

  test('one to a host that the operator has not opened is refused, and says which without its address', async () => {
    const openNow = async () => (to: { readonly url: string }) => to.url.includes('//a.example/')
    const { fetch, requests, events } = setUp({
      openNow,
      answer: () => redirect('https://b.example/?stolen=1'),
    })
    const refused = expect(fetch('https://a.example/')).rejects
    await refused.toThrow(
      'The request was refused: GET at b.example, a host that this deployment has not allowed (an operator allows it: isola http allow b.example).',
    )
    expect(requests).toHaveLength(1)
    expect(events.at(-1)?.data).toMatchObject({ host: 'b.example', refused: true })
  })

  test('T11: a redirect that may not be followed is told as an address to call, and a followed redirect is heard first', async () => {
    const heard: string[] = []
    const { fetch, requests } = setUp({
      mayFollow: async (to, from) => from.host === new URL(to.url).host,
      onRedirect: (host) => void heard.push(host),
      answer: (url) => redirect(url.endsWith('/') ? '/next' : 'https://b.example/?d=1'),
    })
    await expect(fetch('https://a.example/')).rejects.toThrow(
      'The page is elsewhere: https://b.example/?d=1 (call that address).',
    )
    expect(requests.map(({ url }) => url)).toEqual(['https://a.example/', 'https://a.example/next'])
    expect(heard).toEqual(['a.example'])
  })

  test('T11: a place to which one was refused was not read: a call of that address is asked about', async () => {
    const page = labelFrom('http__get a.example', { confidentiality: 'public' })
    const labels = createCallLabels(page, { tool: 'http__get', context: createToolContext() })
    labels.reach()
    const { fetch } = setUp({
      mayFollow: async () => false,
      onRedirect: labels.reachHost,
      answer: () => redirect('https://b.example/?d=1'),
    })
    await expect(fetch('https://a.example/')).rejects.toThrow('The page is elsewhere')
    const verdictAt = (host: string) =>
      verdictOf(joinLabels([labels.label()]), 'egress', undefined, { home: `* ${host}` }).verdict
    expect([verdictAt('a.example'), verdictAt('b.example')]).toEqual(['allow', 'ask'])
  })

  test('a grant that names its host needs no host of the operator', async () => {
    const openNow = async () => () => false
    const grants = [{ host: 'a.example', methods: ['GET' as const] }, ...anyHost]
    const { fetch } = setUp({ openNow, grants })
    expect((await fetch('https://a.example/')).ok).toBe(true)
    await expect(fetch('https://b.example/')).rejects.toThrow('isola http allow b.example')
  })

  test('one to a host without grant is refused', async () => {
    const { fetch } = setUp({
      grants: [{ host: 'a.example', methods: ['GET'] }],
      answer: () => redirect('https://b.example/'),
    })
    await expect(fetch('https://a.example/')).rejects.toThrow('not granted: network GET b.example')
  })

  test.each([
    [301, 'GET'],
    [302, 'GET'],
    [303, 'GET'],
    [307, 'POST'],
    [308, 'POST'],
  ])('POST after %d becomes %s', async (status, method) => {
    const { fetch, requests } = setUp({ answer: chain([['/next', status]]) })
    await fetch('https://a.example/', {
      method: 'POST',
      body: 'b',
      headers: { 'content-type': 'text/plain' },
    })
    expect(requests[1]).toMatchObject({ method, body: method === 'GET' ? undefined : 'b' })
    expect('content-type' in requests[1]!.headers).toBe(method === 'POST')
  })

  test('credentials stay with their origin', async () => {
    const headers = {
      authorization: 'Bearer t',
      cookie: 'c',
      'x-api-key': 'k',
      'x-auth-token': 't',
      accept: 'text/html',
    }
    const { fetch, requests } = setUp({
      answer: chain([
        ['/same', 302],
        ['https://b.example/', 302],
      ]),
    })
    await fetch('https://a.example/', { headers })
    expect(requests[1]?.headers).toEqual({ ...headers, traceparent })
    expect(requests[2]?.headers).toEqual({ accept: 'text/html', traceparent })
  })
})

describe('requests', () => {
  test('an Idempotency-Key goes with what may have an effect, unless the caller set one', async () => {
    const { fetch, requests } = setUp()
    await fetch('https://a.example/')
    await fetch('https://a.example/', { method: 'HEAD' })
    await fetch('https://a.example/', { method: 'post' })
    await fetch('https://a.example/', { method: 'PUT', headers: { 'Idempotency-Key': 'own' } })
    expect(requests.map(({ headers }) => headers['idempotency-key'])).toEqual([
      undefined,
      undefined,
      'key_1',
      'own',
    ])
  })

  test('N7: each carries the trace of the call, whatever the plugin says, and no state of another vendor', async () => {
    const { fetch, requests } = setUp()
    const headers = { traceparent: `00-${'e'.repeat(32)}-${'e'.repeat(16)}-01`, TraceState: 'a=b' }
    await fetch('https://a.example/', { headers })
    expect(requests[0]?.headers).toEqual({ traceparent })
  })

  test.each([
    'Host',
    'Content-Length',
    'Transfer-Encoding',
    'Upgrade',
    'X-Forwarded-For',
    'CF-Connecting-IP',
    'Proxy-Authorization',
  ])("the header %s is the host's", async (name) => {
    await expect(setUp().fetch('https://a.example/', { headers: { [name]: 'x' } })).rejects.toThrow(
      'set by the host',
    )
  })

  test('a header that would break the request is refused', async () => {
    await expect(
      setUp().fetch('https://a.example/', { headers: { a: 'b\r\nc: d' } }),
    ).rejects.toThrow('not valid')
  })

  test('each hop is an event, refused and failed ones too', async () => {
    const ok = setUp({
      answer: (url) => (url.endsWith('/a') ? redirect('/b') : new Response('', { status: 404 })),
    })
    await ok.fetch('https://a.example/a')
    expect(ok.events).toEqual([
      { type: 'network_requested', data: { host: 'a.example', method: 'GET', status: 302 } },
      { type: 'network_requested', data: { host: 'a.example', method: 'GET', status: 404 } },
    ])
    const refused = setUp()
    await expect(refused.fetch('https://u:secret@10.0.0.1/')).rejects.toThrow()
    expect(refused.events).toEqual([
      {
        type: 'network_requested',
        data: { host: '10.0.0.1', method: 'GET', status: 0, refused: true },
      },
    ])
  })

  test('a network fault is transient and does not leak its words', async () => {
    const { fetch, events } = setUp({
      answer: async () => {
        throw new Error('connect ECONNREFUSED 10.1.2.3')
      },
    })
    await expect(fetch('https://a.example/')).rejects.toMatchObject({
      message: 'a.example could not be reached.',
      transient: true,
    })
    expect(events).toEqual([
      { type: 'network_requested', data: { host: 'a.example', method: 'GET', status: 0 } },
    ])
  })
})

describe('bodies', () => {
  const bytes = (count: number, onPull = () => {}) =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        onPull()
        if (count <= 0) return controller.close()
        controller.enqueue(new Uint8Array(Math.min(count, 65_536)))
        count -= 65_536
      },
    })

  test('2 MiB pass', async () => {
    const response = await setUp({ answer: () => new Response(bytes(2 * 1024 * 1024)) }).fetch(
      'https://a.example/',
    )
    expect((await response.arrayBuffer()).byteLength).toBe(2 * 1024 * 1024)
  })

  test('an endless one is cut off while it comes, whatever content-length says', async () => {
    let pulled = 0
    const body = bytes(Number.POSITIVE_INFINITY, () => (pulled += 1))
    const response = await setUp({
      answer: () => new Response(body, { headers: { 'content-length': '5' } }),
    }).fetch('https://a.example/')
    await expect(response.text()).rejects.toThrow('larger than 2 MiB')
    expect(pulled).toBeLessThan(64)
  })

  test('a status without a body stays so', async () => {
    expect(
      (
        await setUp({ answer: () => new Response(null, { status: 204 }) }).fetch(
          'https://a.example/',
        )
      ).status,
    ).toBe(204)
  })

  test('a request has a time', async () => {
    const { fetch, requests } = setUp({ isLate: true })
    await expect(fetch('https://a.example/')).rejects.toThrow('The request was aborted.')
    expect(requests).toEqual([])
  })

  test.each([
    ['a body over 2 MiB', { method: 'POST', body: 'x'.repeat(2_097_153) }, 'larger than 2 MiB'],
    ['one over 2 MiB of bytes', { method: 'POST', body: 'ä'.repeat(1_048_577) }, 'than 2 MiB'],
    [
      '65 headers',
      { headers: Object.fromEntries([...Array(65).keys()].map((n) => [`a${n}`, ''])) },
      '64 headers',
    ],
    ['headers over 32 KiB', { headers: { a: 'x'.repeat(32_768) } }, '32 KiB'],
    [
      'another method by header',
      { headers: { 'X-HTTP-Method-Override': 'DELETE' } },
      'by the host',
    ],
    ['another path by header', { headers: { 'x-original-url': '/admin' } }, 'by the host'],
    ['a line break in a header', { headers: { a: 'b\r\nhost: evil.example' } }, 'not valid'],
    ['a header name that is none', { headers: { 'a b': 'c' } }, 'not valid'],
  ])('T5: refuses %s', async (_what, init, message) => {
    const { fetch, requests } = setUp()
    await expect(fetch('https://a.example/', init)).rejects.toThrow(message)
    expect(requests).toEqual([])
  })

  test("the call's end aborts the request", async () => {
    const { fetch, controller } = setUp({
      answer: (_url, { signal }) =>
        new Promise((_resolve, reject) =>
          signal!.addEventListener('abort', () => reject(new Error('aborted'))),
        ),
    })
    const running = fetch('https://a.example/')
    controller.abort()
    await expect(running).rejects.toThrow('The request was aborted.')
  })
})
