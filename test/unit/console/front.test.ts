import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { frontPage, type Front } from '../../../src/surfaces/console/front.ts'
import { createFakeApp, errorOf, testKey, type FakeOptions } from '../../fakes/http-deps.ts'

const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const open = (options?: FakeOptions) => {
  const { app } = createFakeApp(options)
  return (path = '/', init: RequestInit = { headers: { accept } }) =>
    app.request(`http://localhost:8787${path}`, init)
}
const production: FakeOptions = { deps: { isDevelopment: false } }

describe('the page at /', () => {
  it('says that it runs, which model answers, and how to ask, with a placeholder for the key', async () => {
    const response = await open()()
    const html = await response.text()
    expect(response.status).toBe(200)
    expect(html).toContain('It runs.')
    expect(html).toContain('<code>scripted/one</code>')
    expect(html).toContain('<code>http://localhost:8787/v1</code>')
    expect(html).toContain('Bearer $ISOLA_KEY')
    expect(html).not.toContain(testKey)
  })

  it('names no model, no version and no plugin to strangers of a deployment', async () => {
    const html = await (await open(production)()).text()
    expect(html).toContain('one is configured')
    expect(html).not.toMatch(/scripted|0\.1\.0|kv__/)
  })

  it('says that there is no model, and why every request is refused', async () => {
    const select = () => {
      throw new IsolaError('model_not_configured', 'No model.')
    }
    const models = { provider: { select } as never, list: () => [], status: () => [] }
    expect(await (await open({ deps: { models } })()).text()).toContain('none is configured')
    const readiness = async () => ({ state: 'not_migrated' as const, message: 'Run <this>.' })
    expect(await (await open({ deps: { readiness } })()).text()).toContain(
      'refuses every request: Run &#60;this&#62;.',
    )
    const broken = async () => {
      throw new Error('secret detail')
    }
    const html = await (await open({ deps: { readiness: broken } })()).text()
    expect(html).toContain('refuses every request')
    expect(html).not.toContain('secret detail')
  })

  it('T28: may load nothing but its icon, run nothing, and stand in no frame', async () => {
    const { headers } = await open()()
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'$/,
    )
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('vary')).toBe('accept')
  })

  it('T28: shows as text what a host, a model or a message may hold', () => {
    const skeleton = (html: string) => html.match(/<[^>]*>/g)
    const plain: Front = { origin: 'http://x', isDevelopment: true, model: 'm', problem: 'p' }
    for (const text of ['<script>a</script>', '"><img src=x>', "'><b>", '\u202e<i>'])
      for (const field of ['origin', 'model', 'problem'] as const)
        expect(skeleton(frontPage({ ...plain, [field]: text }))).toEqual(skeleton(frontPage(plain)))
  })

  it('is for browsers: programs are told what they were told without it', async () => {
    const send = open()
    for (const asked of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
      expect((await send('/', { headers: asked })).status).toBe(401)
      const authorization = `Bearer ${testKey}`
      const known = await send('/', { headers: { ...asked, authorization } })
      expect([known.status, (await errorOf(known)).code]).toEqual([404, 'not_found'])
    }
    expect((await send('/', { method: 'POST', headers: { accept } })).status).toBe(401)
    const head = await send('/', { method: 'HEAD', headers: { accept } })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })
})

describe('what browsers and crawlers ask of any host', () => {
  it.each(['/favicon.svg', '/favicon.ico'])('%s is an icon without a script', async (path) => {
    const response = await open(production)(path)
    expect(response.headers.get('content-type')).toBe('image/svg+xml')
    expect(response.headers.get('content-security-policy')).toBe("default-src 'none'")
    expect(await response.text()).toMatch(/^<svg (?![^]*script)/)
  })

  it('/robots.txt keeps crawlers away', async () => {
    expect(await (await open()('/robots.txt')).text()).toBe('User-agent: *\nDisallow: /\n')
  })
})
