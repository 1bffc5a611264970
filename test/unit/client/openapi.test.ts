import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { toOpenApiDocument as makeDocument } from '../../../src/surfaces/http/openapi/document.ts'
import { openApiText } from '../../../scripts/openapi.mjs'
import { withRoleTable } from '../../../scripts/role-table.mjs'
import { checkReplies, problemOf } from '../../setup/check-replies.ts'
import { createFakeApp, errorOf } from '../../fakes/http-deps.ts'
import { access, pathOf, readAllRoutes, routesOf } from '../../fakes/routes.ts'

const routes = routesOf(access)
const declared = await readAllRoutes()
const toOpenApiDocument = () => makeDocument(declared)
const native = routes.filter(({ path }) => path.startsWith('/api/'))
const json = (body: unknown, status = 200) => Response.json(body, { status })
const get = (path: string) => ({ method: 'GET', url: `http://isola.test${path}` })

describe('the OpenAPI document', () => {
  it('has each route of /api, /v1 and /healthz, and no other', () => {
    const published = routes.filter(({ path }) => /^\/(api\/|v1\/|healthz$)/.test(path))
    const named = published.map(({ method, path }) => `${method} ${path}`)
    expect(declared.map(({ name }) => name).toSorted()).toEqual(named.toSorted())
  })

  it('is the one in docs/openapi.json: npm run openapi writes it', async () => {
    const file = join(import.meta.dirname, '../../../docs/openapi.json')
    expect(readFileSync(file, 'utf8')).toBe(await openApiText())
  })

  it('G: docs/api.md says which role may use what, as x-roles do: npm run openapi writes it', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/api.md'), 'utf8')
    const document = toOpenApiDocument() as unknown as {
      readonly paths: Record<string, Record<string, { 'x-roles'?: readonly string[] }>>
    }
    expect(withRoleTable(page, document)).toBe(page)
    // What may use another route is another table.
    const { paths } = structuredClone(document)
    paths['/api/operator/secrets']!['get']!['x-roles'] = ['operator', 'auditor']
    const other = withRoleTable(page, { paths })
    expect(other).not.toBe(page)
    expect(other).toContain('| `/api/operator/secrets…` | yes |  |  | reads |')
    expect(() => withRoleTable('no table', document)).toThrow('docs/api.md')
  })

  it('is answered to every caller with a key', async () => {
    const { app, send } = createFakeApp()
    expect(await (await send('/api/openapi.json')).json()).toEqual(toOpenApiDocument())
    expect((await app.request('/api/openapi.json')).status).toBe(401)
  })

  it('says that it may be missing itself', async () => {
    const { send } = createFakeApp({ deps: { readAsset: undefined } })
    const reply = await send('/api/openapi.json')
    expect(reply.status).toBe(404)
    expect(await problemOf(get('/api/openapi.json'), reply)).toBeUndefined()
  })

  it('names each operation and each schema once, and every schema that it refers to', () => {
    const text = JSON.stringify(toOpenApiDocument())
    const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(declared.length)
    const { schemas } = Object(toOpenApiDocument()['components'])
    const wanted = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name)
    expect(wanted.filter((name) => !Object.hasOwn(schemas, name!))).toEqual([])
    expect(Object.keys(schemas).filter((name) => name.startsWith('_'))).toEqual([])
  })
})

describe('a query parameter that a route does not know', () => {
  it.each(native)('$method $path refuses it by name', async ({ method, path }) => {
    const { send, calls } = createFakeApp()
    const response = await send(`${pathOf(path)}?foreign=1`, { method })
    const { code, param } = await errorOf(response)
    expect([response.status, code, param, calls]).toEqual([400, 'invalid', 'foreign', []])
  })
})

describe('a reply in the tests', () => {
  it.each([
    [{ ok: true }, 'GET /healthz 200: #'],
    [{ status: 'well' }, 'GET /healthz 200: #/status'],
    [{ status: 'ok', more: 1 }, 'GET /healthz 200: #/more'],
  ])('is refused by route, status and field: %j', async (body, problem) => {
    expect(await problemOf(get('/healthz'), json(body))).toContain(problem)
  })

  it('is refused where the document has no such route, status or type', async () => {
    expect(await problemOf(get('/healthz'), json({ status: 'ok' }))).toBeUndefined()
    expect(await problemOf(get('/healthz'), json({ status: 'ok' }, 201))).toBe(
      'GET /healthz 201: the document has no such status',
    )
    expect(await problemOf(get('/api/nothing'), json({}))).toBe(
      'GET /api/nothing 200: the document has no such route',
    )
    expect(await problemOf(get('/healthz'), new Response('ok'))).toContain('no reply of type')
  })

  it('is thrown by the app, so that its test fails', async () => {
    const answer = (_request: Request) => json({ runs: [{ id: 7 }] })
    const app = checkReplies({
      fetch: answer as (request: Request) => Response | Promise<Response>,
    })
    const sent = app.fetch(new Request('http://isola.test/api/operator/runs'))
    await expect(sent).rejects.toThrow('GET /api/operator/runs 200: #/runs/0')
  })
})
