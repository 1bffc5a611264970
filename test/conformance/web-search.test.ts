import { describe, expect, it, test } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import { bundledEntries } from '../fakes/bundled.ts'
import { readerOf } from '../fakes/secrets.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import { describeTool } from './describe-tool.ts'
import { toSubject } from './tool-subject.ts'
import { createSearchWorld } from './web-search-world.ts'

describeTool('web-search__search, in process', {
  inputs: {
    succeed: { query: 'workerd' },
    invalid: { query: '' },
    fail: [{ query: '500' }, { query: '401' }, { query: 'page' }],
    hang: { query: 'hang' },
  },
  create: () => {
    const sessions = createFakeGateway()
    const { deps } = createSearchWorld()
    return toSubject(
      bundledEntries('web-search', { ...deps, sessions }),
      'web-search__search',
      sessions,
    )
  },
})

const searxng = {
  config: { provider: 'searxng', searxng_url: 'https://search.example.com/sub/' },
  grants: { network: [{ host: 'search.example.com', methods: ['GET'] }] },
}

function open(changes: object = {}, deps: object = {}) {
  const world = createSearchWorld()
  const [search] = bundledEntries('web-search', { ...world.deps, ...deps }, { ...changes })
  return {
    ...world,
    search: async (input: JsonObject) => {
      const result = await search!.tool.execute(input, createToolContext())
      return result.ok ? result.output : result.error
    },
  }
}

describe('Y32: web search', () => {
  it('asks Brave, with the key in its header and nowhere else', async () => {
    const { search, sent } = open()
    expect(await search({ query: 'workerd', count: 2, freshness: 'month' })).toEqual({
      provider: 'brave',
      results: [
        {
          title: 'cloudflare/workerd',
          url: 'https://github.com/cloudflare/workerd',
          snippet: 'The JavaScript & Wasm runtime that powers Workers',
          date: '2026-10-30T00:00:00',
        },
        { title: 'Docs', url: 'https://developers.cloudflare.com/workers/', snippet: 'Docs.' },
      ],
    })
    expect(sent).toEqual([
      {
        url: 'https://api.search.brave.com/res/v1/web/search?q=workerd&count=2&result_filter=web&freshness=pm',
        method: 'GET',
        headers: expect.objectContaining({ 'x-subscription-token': 'brave-key-1' }) as unknown,
        body: '',
      },
    ])
  })

  it('asks Tavily', async () => {
    const { search, sent } = open({ config: { provider: 'tavily' } })
    expect(await search({ query: 'workerd', freshness: 'week' })).toEqual({
      provider: 'tavily',
      results: [
        {
          title: 'cloudflare/workerd',
          url: 'https://github.com/cloudflare/workerd',
          snippet: 'The JavaScript & Wasm runtime that powers Workers',
        },
      ],
    })
    expect(sent).toMatchObject([
      { method: 'POST', headers: { authorization: 'Bearer tvly-key-1' } },
    ])
    expect(JSON.parse(sent[0]!.body)).toEqual({
      query: 'workerd',
      max_results: 5,
      time_range: 'week',
    })
  })

  it("asks the operator's own SearXNG, without a key", async () => {
    const { search, sent } = open(searxng)
    expect(await search({ query: 'a b', freshness: 'day' })).toMatchObject({
      provider: 'searxng',
      results: [{ url: 'https://github.com/cloudflare/workerd', date: '2026-10-30T00:00:00' }],
    })
    expect(sent[0]?.url).toBe(
      'https://search.example.com/sub/search?q=a+b&format=json&time_range=day',
    )
  })

  it.each([
    ['brave', 'BRAVE_API_KEY'],
    ['tavily', 'TAVILY_API_KEY'],
  ])('P14: names the missing secret of %s and the command that sets it', async (provider, name) => {
    const { search, sent } = open({ config: { provider } }, { readSecrets: readerOf({}) })
    expect(await search({ query: 'workerd' })).toMatchObject({
      message: expect.stringContaining(`isola secret set ${name}`) as string,
    })
    expect(sent).toEqual([])
  })

  it.each([
    [
      '401',
      {},
      'brave refused the key (401). The operator sets a new one: isola secret set BRAVE_API_KEY',
    ],
    ['432', { config: { provider: 'tavily' } }, 'tavily: the plan of the key is used up (432).'],
    ['403', searxng, 'search.formats'],
    ['404', {}, 'brave answered 404.'],
    ['page', {}, 'brave answered something that is not JSON.'],
  ])('says what to do about the answer %s', async (query, changes, message) => {
    const { search } = open(changes)
    expect(await search({ query })).toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining(message) as string,
    })
  })

  it.each(['429', '503'])('calls %s transient', async (query) => {
    expect(await open().search({ query })).toMatchObject({ transient: true })
  })

  it('leaves out what is no page', async () => {
    expect(await open().search({ query: 'odd' })).toEqual({ provider: 'brave', results: [] })
  })

  it('says where a missing searxng_url goes, and that its host needs a grant', async () => {
    expect(await open({ config: { provider: 'searxng' } }).search({ query: 'a' })).toMatchObject({
      message: expect.stringContaining('no searxng_url') as string,
    })
    expect(await open({ config: searxng.config }).search({ query: 'a' })).toMatchObject({
      message: expect.stringContaining('search.example.com') as string,
    })
  })
})

test('Y32: a provider that does not exist switches the plugin off with the place', () => {
  expect(() => open({ config: { provider: 'altavista' } })).toThrow(/config.*provider/)
})
