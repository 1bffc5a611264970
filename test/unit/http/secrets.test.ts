import { describe, expect, it } from 'vitest'
import { githubTools } from '../../fakes/secrets.ts'
import { createFakeApp, errorOf } from '../../fakes/http-deps.ts'

const path = '/api/operator/secrets'
const canary = 'canary-0123456789'
const set = (
  app = createFakeApp({ deps: { plugins: githubTools } }),
  json: object = { name: 'GITHUB_TOKEN', value: canary },
) => app.send(path, { json })

describe('/api/operator/secrets', () => {
  it('sets a value and never shows it again', async () => {
    const app = createFakeApp({ deps: { plugins: githubTools } })
    const response = await set(app)
    const text = await response.text()
    expect([response.status, JSON.parse(text)]).toMatchObject([
      200,
      { name: 'GITHUB_TOKEN', setBy: 'operator' },
    ])
    const listed = await (await app.send(path)).text()
    expect(JSON.parse(listed)).toMatchObject({
      secrets: [{ name: 'GITHUB_TOKEN', setBy: 'operator', askedBy: ['github-tools'] }],
      missing: [],
    })
    expect(text + listed).not.toContain('canary')
  })

  it('lists secrets that plugins ask for and that are not set', async () => {
    const { send } = createFakeApp({ deps: { plugins: githubTools } })
    expect(await (await send(path)).json()).toEqual({
      secrets: [],
      missing: [{ name: 'GITHUB_TOKEN', askedBy: ['github-tools'] }],
    })
  })

  it('removes, and says 404 of what is not there', async () => {
    const app = createFakeApp({ deps: { plugins: githubTools } })
    await set(app)
    const remove = () => app.send(`${path}/GITHUB_TOKEN`, { method: 'DELETE' })
    expect(await (await remove()).json()).toEqual({ name: 'GITHUB_TOKEN', removed: true })
    expect((await remove()).status).toBe(404)
  })

  it('rotates and counts', async () => {
    const app = createFakeApp({ deps: { plugins: githubTools } })
    await set(app)
    const response = await app.send(`${path}/rotate`, { method: 'POST' })
    expect(await response.json()).toEqual({ rotated: 0, current: 1, failed: [] })
  })

  it.each([
    [{ name: 'github', value: canary }, 'name'],
    [{ value: canary }, 'name'],
    [{ name: 'A' }, 'value'],
    [{ name: 'A', value: 7 }, 'value'],
    [{ name: 'A', value: '' }, 'value'],
    [{ name: 'A', value: `${canary}\0` }, 'value'],
    [{ name: 'A', value: canary, host: 'x' }, 'host'],
  ])('%j is 400 and names %s, without the value', async (json, param) => {
    const response = await set(createFakeApp({ deps: { plugins: githubTools } }), json)
    const text = await response.clone().text()
    expect([response.status, (await errorOf(response)).param]).toEqual([400, param])
    expect(text).not.toContain('canary')
  })
})
