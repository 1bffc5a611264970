import { describe, expect, it } from 'vitest'
import { roles, type Role } from '../../../src/contracts/keys.ts'
import { createAuthenticator } from '../../../src/features/access/logins.ts'
import { createKeyAdministration } from '../../../src/features/access/key-administration.ts'
import type { Access } from '../../../src/platform/routes/route.ts'
import { createCountedSources, createFakeApp, errorOf, testKey } from '../../fakes/http-deps.ts'
import { createMemoryKeys, noOtherKeys } from '../../fakes/keys.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { access, declaredAccess, loadAll, pathOf, routesOf } from '../../fakes/routes.ts'

const by = { principal: 'operator', trace: '', requestId: 'req_1' }

/** The app with a principal of each role, and what each credential sends. */
async function openApp() {
  const { sources, tick } = createCountedSources()
  const keys = createMemoryKeys()
  const administration = createKeyAdministration({ ...sources, sha256, keys })
  const issue = async (principal: string, role: Role, expiresInMs?: number) =>
    administration.add(
      { principal, rights: { role }, ...(expiresInMs && { end: { expiresInMs } }) },
      by,
    )
  const expired = await issue('late', 'operator', 1)
  const revoked = await issue('gone', 'operator')
  await administration.revoke(revoked.key.id, by)
  const ofRoles = new Map<string, string>()
  for (const role of roles) ofRoles.set(role, (await issue(`an-${role}`, role)).secret)
  tick(1)
  const { clock } = sources
  const authenticate = createAuthenticator({ ...noOtherKeys, operatorKey: testKey, keys, clock })
  const fake = createFakeApp({ deps: { authenticate } })
  const refused = new Map([
    ['a wrong key', `isk_${'x'.repeat(22)}`],
    ['an expired key', expired.secret],
    ['a revoked key', revoked.secret],
  ])
  return { ...fake, ofRoles, refused }
}

const isFor = (allowed: Access, role: string) =>
  allowed === 'anyone' || allowed.some((one) => one === role)

describe('I26: the table of routes', () => {
  it('has every route of the app', async () => {
    const { app } = createFakeApp()
    const served = app.routes.filter(({ method, path }) => method !== 'ALL' && path !== '/*')
    expect(new Set(served.map(({ method, path }) => `${method} ${path}`))).toEqual(
      new Set(routesOf(access).map(({ method, path }) => `${method} ${path}`)),
    )
  })

  it('is what the files say that declare the routes', async () => {
    const declared = (await Promise.all(loadAll())).flatMap((file) => file.default)
    const said = declared.map(({ name, roles: allowed }) => [name, allowed] as const)
    const listed = routesOf(declaredAccess).map(({ method, path, allowed }) => {
      return [`${method} ${path}`, allowed] as const
    })
    expect(new Map(listed)).toEqual(new Map(said))
  })

  describe.each(routesOf(access))('$method $path', ({ method, path, allowed }) => {
    it('refuses a request with no key, a wrong, an expired or a revoked one, all alike', async () => {
      const { app, refused, calls } = await openApp()
      const request = (key?: string) =>
        app.request(pathOf(path), {
          method,
          headers: {
            // The page at `/` is for browsers; others are told what they were told before.
            accept: 'text/html',
            ...(key !== undefined && { authorization: `Bearer ${key}` }),
          },
        })
      // A route for anyone may refuse this request, but not for want of a key.
      if (allowed === 'anyone')
        return expect([401, 403, 429, 500]).not.toContain((await request()).status)
      expect([(await request()).status, calls]).toEqual([401, []])
      const bodies = new Set<string>()
      for (const key of refused.values()) {
        const response = await request(key)
        expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
        bodies.add((await response.text()).replace(/req_\d+/, ''))
      }
      expect([bodies.size, calls]).toEqual([1, []])
    })

    it('answers the roles it is for, and the others before it looks at the request', async () => {
      const { send, ofRoles, calls } = await openApp()
      for (const [role, key] of [...ofRoles, ['operator', testKey] as const]) {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'text/nonsense' }
        const before = calls.length
        const response = await send(`${pathOf(path)}?nonsense=1`, {
          method,
          headers,
          ...(method === 'POST' && { body: 'nonsense' }),
        })
        expect([401, 429, 500]).not.toContain(response.status)
        expect(response.status === 403, `${role}: ${response.status}`).toBe(!isFor(allowed, role))
        if (response.status !== 403) continue
        expect((await errorOf(response)).code).toBe('forbidden')
        expect(calls).toHaveLength(before)
      }
    })
  })
})

describe('I26: an auditor', () => {
  it('reads sessions, the record, how the deployment is and what was spent, and nothing else', () => {
    const readable = routesOf(access).filter(
      ({ allowed }) => allowed !== 'anyone' && isFor(allowed, 'auditor'),
    )
    expect(readable.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
      [
        'GET /api/openapi.json',
        'GET /api/status',
        'GET /api/runs',
        'GET /api/runs/:run',
        'GET /api/sessions',
        'GET /api/sessions/:id',
        'GET /api/sessions/:id/transcript',
        'GET /api/sessions/:id/context',
        'GET /api/sessions/:id/events',
        'GET /api/sessions/:id/runs/:run',
        'GET /api/agents',
        'GET /api/agents/:agent',
        'GET /api/agents/:agent/diff',
        'GET /api/usage',
        'GET /api/approval-rules',
        'GET /api/schedules',
        'GET /api/schedules/:id',
        'GET /api/schedules/:id/history',
        'GET /api/subscriptions',
        'GET /api/subscriptions/:id',
        'GET /api/subscriptions/:id/history',
        'GET /api/operator/approvals',
        'GET /api/operator/approvals/:id',
        'GET /api/operator/audit',
        'GET /api/operator/health',
        'GET /api/operator/models',
        'GET /api/operator/usage',
        'GET /api/operator/unconfirmed',
        'GET /api/operator/policy',
        'POST /api/operator/policy/test',
        'GET /api/operator/http',
        'GET /api/operator/exposed',
        'GET /api/operator/skills',
        'GET /api/operator/skills/:skill',
        'GET /api/operator/skill-drafts',
        'GET /api/operator/skill-drafts/:draft',
        'GET /api/operator/plugins',
        'GET /api/operator/plugins/:plugin',
        'GET /api/operator/mcp',
        'GET /api/operator/mcp/:server',
        'GET /api/operator/generations',
      ].toSorted(),
    )
  })
})

describe('I26: a principal other than an operator', () => {
  it('P21: reaches no route that grants, revokes or decides for others; an author brings plugins, and decides what the policy gives to authors', () => {
    const reachable = routesOf(access).filter(
      ({ allowed, path }) =>
        path.startsWith('/api/operator') && (isFor(allowed, 'author') || isFor(allowed, 'user')),
    )
    expect(reachable.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
      [
        'GET /api/operator/approvals',
        'POST /api/operator/approvals',
        'GET /api/operator/approvals/:id',
        'POST /api/operator/approvals/:id',
        'GET /api/operator/skills',
        'POST /api/operator/skills',
        'GET /api/operator/skills/:skill',
        'GET /api/operator/plugins',
        'POST /api/operator/plugins',
        'GET /api/operator/plugins/:plugin',
        'GET /api/operator/generations',
      ].toSorted(),
    )
  })
})
