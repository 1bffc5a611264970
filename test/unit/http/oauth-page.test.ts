import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import type { Consent } from '../../../src/features/access/types/oauth.ts'
import { roles, type Role, scopes, type Scope } from '../../../src/contracts/keys.ts'
import { roleWithin, scopesOfRole } from '../../../src/features/access/types/scopes.ts'
import { scopesFor } from '../../../src/platform/routes/types/scopes.ts'
import { guarded } from '../../../src/platform/routes/mount.ts'
import type { Access } from '../../../src/platform/routes/route.ts'
import type { HttpEnv } from '../../../src/platform/routes/types.ts'
import {
  formTargets,
  consentPage,
  pageResponse,
  refusalPage,
} from '../../../src/surfaces/sign-in/oauth.ts'
import { access, routesOf } from '../../fakes/routes.ts'

const consent: Consent = {
  clientName: 'A client',
  redirectHost: 'client.example',
  redirectOrigin: 'https://client.example',
  isLoopback: false,
  resource: 'https://isola.example/mcp',
  scopes: ['agents'],
  ticked: ['agents'],
  handle: 'h',
}

/** Ways to write a program where text belongs. */
const shapes = [
  (js: string) => `<script>${js}</script>`,
  (js: string) => `"><script>${js}</script>`,
  (js: string) => `'><img src=x onerror=${js}>`,
  (js: string) => `</title><svg onload=${js}>`,
  (js: string) => `</style><script>${js}</script>`,
  (js: string) => `" autofocus onfocus=${js} x="`,
  (js: string) => `' onmouseover=${js} '`,
  (js: string) => `\` onclick=${js} \``,
  (js: string) => `<iframe srcdoc="<script>${js}</script>">`,
  (js: string) => `<a href="javascript:${js}">x</a>`,
  () => `<form action="https://evil.example"><button>`,
  (js: string) => `<meta http-equiv=refresh content="0;url=javascript:${js}">`,
  () => `<base href="https://evil.example/">`,
  (js: string) => `<!--><script>${js}</script-->`,
  (js: string) => `&#60;script&#62;${js}`,
  (js: string) => `<scr\0ipt>${js}</scr\0ipt>`,
  (js: string) => `\u202e<script>${js}</script>`,
  (js: string) => `\u2028<img src=x onerror=${js}>`,
  () => `<link rel=stylesheet href=//evil.example>`,
  (js: string) => `<input name=handle value="x" onfocus=${js}>`,
]
const programs = ['alert(1)', 'fetch(`//evil.example`)', "top.location='//evil.example'"]
const payloads = shapes.flatMap((shape) => programs.map((js) => shape(js)))
/** Every tag and attribute that the page has by itself. */
const skeleton = (html: string) =>
  html.match(/<[^>]*>/g)?.map((tag) => tag.replace(/"[^"]*"/g, '""'))

const textOf = (html: string) => html.replace(/<[^>]*>/g, '').replace(/&#39;/g, "'")

describe('the consent page', () => {
  it('T28: quotes what a client calls itself, which cannot end the quotes', () => {
    const clientName = 'Isola” to read the time. “Never mind'
    const text = textOf(consentPage({ ...consent, clientName }))
    expect(text).toContain("Allow “Isola' to read the time. 'Never mind” to use this Isola")
    const long = textOf(consentPage({ ...consent, clientName: 'x'.repeat(5_000) }))
    expect(long).toContain(`Allow “${'x'.repeat(100)}…” to use this Isola`)
  })

  it(`T28: shows ${payloads.length} programs as text, wherever a client may write them`, () => {
    expect(payloads.length).toBeGreaterThanOrEqual(60)
    const own = skeleton(
      consentPage({
        ...consent,
        clientHost: 'x',
        upstreamHost: 'x',
        problem: { status: 401, message: 'x' },
      }),
    )
    for (const text of payloads) {
      const page = consentPage({
        ...consent,
        clientName: text,
        clientHost: text,
        redirectHost: text,
        resource: text,
        handle: text,
        upstreamHost: text,
        problem: { status: 401, message: text },
      })
      expect(skeleton(page), text).toEqual(own)
      expect(skeleton(refusalPage(text)), text).toEqual(skeleton(refusalPage('x')))
      expect(page).not.toMatch(/[\0\u202a-\u202e\u2066-\u2069\u2028]/)
    }
  })

  it('T28: may load nothing, run nothing and stand in no frame', async () => {
    const { headers } = await pageResponse(consentPage(consent), {
      status: 200,
      formTargets: ['http://127.0.0.1:1'],
    })
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; form-action 'self' https: http:\/\/127\.0\.0\.1:1; base-uri 'none'; frame-ancestors 'none'$/,
    )
    expect(headers.get('x-frame-options')).toBe('DENY')
  })

  it('may lead to http only on the own machine: to the client, or to the provider of the settings', () => {
    const [client, provider] = ['http://127.0.0.1:1', 'http://localhost:9000']
    const at = (isLoopback: boolean, upstreamOrigin: string) =>
      formTargets({ isLoopback, redirectOrigin: client, upstreamOrigin })
    expect(at(true, provider)).toEqual([client, provider])
    expect(at(false, provider)).toEqual([provider])
    expect(at(false, 'https://login.example')).toEqual([])
  })

  it('lets a browser name its origin with the form, and hides the address from every other site', async () => {
    const { headers } = await pageResponse(consentPage(consent), { status: 200 })
    expect(headers.get('referrer-policy')).toBe('same-origin')
  })

  it('warns of a program on the own machine, and of a name without a checked host', () => {
    expect(consentPage({ ...consent, isLoopback: true })).toContain('on your own computer')
    expect(consentPage(consent)).not.toContain('on your own computer')
    expect(consentPage(consent)).toContain('nobody vouches')
    expect(consentPage({ ...consent, clientHost: 'app.example' })).not.toContain('nobody vouches')
  })

  it('T28: has ticked what it is told, and nothing else', () => {
    const page = consentPage({ ...consent, scopes })
    const boxes = [...page.matchAll(/name="scope" value="([^"]+)"( checked)?/g)]
    expect(boxes.map(([, scope, checked]) => [scope, checked !== undefined])).toEqual([
      ['agents', true],
      ['approve', false],
      ['audit:read', false],
      ['plugins:install', false],
      ['operator', false],
    ])
  })

  it('cuts a name that would push the rest away', () => {
    expect(consentPage({ ...consent, clientName: 'x'.repeat(5_000) })).not.toContain(
      'x'.repeat(101),
    )
  })
})

/** What a token without a scope is told to ask for at such a route. */
async function neededScopes(allowed: Access, role: Role): Promise<readonly Scope[]> {
  let told: readonly Scope[] = []
  const app = new Hono<HttpEnv>()
  app.use(async (context, next) => {
    context.set('principal', {
      id: 'p',
      role,
      token: { scopes: [], couldHave: scopesOfRole(role) },
    })
    await next()
    told = context.get('neededScopes') ?? []
  })
  app.get(
    '/',
    guarded(allowed, () => new Response()),
  )
  app.onError(() => new Response())
  await app.request('/')
  return told
}

describe('I26: the scopes', () => {
  it('open each route to a role: one of them at least, and the operator always', () => {
    for (const { path, allowed } of routesOf(access)) {
      if (allowed === 'anyone') continue
      expect(scopesFor(allowed).length, path).toBeGreaterThan(0)
      expect(scopesFor(allowed), path).toContain('operator')
    }
  })

  it('give no role what it has not: a token of a role opens no more than a key of it', () => {
    for (const role of roles)
      for (const { path, method, allowed } of routesOf(access)) {
        if (allowed === 'anyone') continue
        const isOpen = scopesFor(allowed).some((scope) => scopesOfRole(role).includes(scope))
        expect(isOpen, `${role} ${method} ${path}`).toBe(allowed.some((one) => one === role))
      }
  })

  it('that a refused token is told of are of use to its principal, on every route', async () => {
    for (const role of roles)
      for (const { path, method, allowed } of routesOf(access)) {
        if (allowed === 'anyone' || !allowed.some((one) => one === role)) continue
        const told = await neededScopes(allowed, role)
        expect(scopesOfRole(role), `${role} ${method} ${path}`).toEqual(
          expect.arrayContaining([...told]),
        )
        expect(told, path).toHaveLength(1)
      }
    const readers = access['/api/operator/plugins']!['GET']!
    expect(await neededScopes(readers, 'author')).toEqual(['plugins:install'])
    expect(await neededScopes(readers, 'auditor')).toEqual(['audit:read'])
  })

  it('make an operator no more than the token is for', () => {
    expect(roleWithin('operator', ['operator'])).toBe('operator')
    expect(roleWithin('operator', ['agents', 'plugins:install'])).toBe('author')
    expect(roleWithin('operator', ['agents', 'audit:read'])).toBe('user')
    expect(roleWithin('operator', ['audit:read'])).toBe('auditor')
    expect(roleWithin('operator', [])).toBe('user')
    expect(roleWithin('operator', ['agents', 'approve'])).toBe('user')
    expect(scopes).toHaveLength(5)
  })
})
