import { describe, expect, it } from 'vitest'
import { createLinkWorld } from '../../fakes/mcp-link.ts'
import { createFakeMcp, type FakeMcpOptions } from '../../fakes/mcp-server.ts'

const good = { name: 'good', inputSchema: { type: 'object' } }
const eras = ['modern', 'legacy'] as const

/** What a server of either protocol lists, with whatever else stands in that result. */
const listed = (
  era: (typeof eras)[number],
  lists: Readonly<Record<string, object>>,
  options: Partial<FakeMcpOptions> = {},
) => {
  const about = era === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}
  const more = Object.fromEntries(
    Object.entries(lists).map(([method, result]) => [method, () => ({ ...about, ...result })]),
  )
  return createLinkWorld(createFakeMcp({ era, ...options, more: { ...more, ...options.more } }))
}

describe.each(eras)('A 14: what a server of another language lists (%s)', (era) => {
  const look = (tool: unknown, more: object = {}) =>
    listed(era, { 'tools/list': { tools: [good, tool], ...more } }).look()

  const nulls: Readonly<Record<string, object>> = {
    'annotations: null': { annotations: null },
    'title: null': { title: null },
    'description: null': { description: null },
    'outputSchema: null': { outputSchema: null },
    '_meta: null': { _meta: null },
    'icons: null': { icons: null },
    'execution: null': { execution: null },
    'a hint that is null': { annotations: { readOnlyHint: null, title: null } },
    'empty lists for empty objects (PHP)': { annotations: [], _meta: [] },
    'everything null that may be absent (C#)': {
      title: null,
      description: null,
      outputSchema: null,
      annotations: null,
      icons: null,
      execution: null,
      _meta: null,
    },
  }
  it.each(Object.keys(nulls))('%s is as good as absent', async (what) => {
    const tool = { name: 'odd', inputSchema: { type: 'object' } }
    const { items, refused } = await look({ ...tool, ...nulls[what] })
    expect(refused).toEqual([])
    expect(items.map(({ key }) => key)).toEqual(['good', 'odd'])
    const plain = (await look(tool)).items.find(({ key }) => key === 'odd')
    if (!what.includes('hint')) expect(items[1]?.hash).toBe(plain?.hash)
  })

  const schemas: readonly (readonly [string, unknown, object])[] = [
    ['absent', undefined, { type: 'object' }],
    ['null', null, { type: 'object' }],
    ['{}', {}, { type: 'object' }],
    ['true', true, { type: 'object' }],
    ['[] (PHP)', [], { type: 'object' }],
    ['type: ["object"]', { type: ['object'] }, { type: 'object' }],
    ['type: ["object", "null"]', { type: ['object', 'null'] }, { type: 'object' }],
    [
      'with $schema and no type',
      { $schema: 'https://json-schema.org/draft/2020-12/schema', properties: { a: {} } },
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        properties: { a: {} },
        type: 'object',
      },
    ],
    [
      'properties: null, required: null (Java)',
      { type: 'object', properties: null, required: null, description: null },
      { type: 'object' },
    ],
    [
      'properties: [] (PHP)',
      { type: 'object', properties: [] },
      { type: 'object', properties: {} },
    ],
    [
      'nulls within a property, whose default is null',
      {
        type: 'object',
        properties: {
          a: { type: 'string', title: null, items: null, default: null, enum: [null] },
        },
      },
      { type: 'object', properties: { a: { type: 'string', default: null, enum: [null] } } },
    ],
  ]
  it.each(schemas)('an inputSchema that is %s is one of an object', async (_what, given, read) => {
    const { items, refused } = await look({ name: 'odd', inputSchema: given })
    expect(refused).toEqual([])
    expect(items.find(({ key }) => key === 'odd')?.definition['inputSchema']).toEqual(read)
  })

  it('says which tool came without an inputSchema', async () => {
    const { notes } = await look({ name: 'odd' })
    expect(notes).toEqual(['"odd" has no inputSchema: any arguments are taken.'])
  })

  const odd: readonly (readonly [unknown, string, string])[] = [
    [{ ...good, name: 42 }, '42', 'its name is not a text'],
    [{ ...good, name: null }, '(entry 2)', 'has no name that can be used'],
    [{ ...good, name: undefined, title: 'Ping' }, 'Ping', 'has no name that can be used'],
    [{ ...good, name: { en: 'ping' } }, '{"en":"ping"}', 'its name is not a text'],
    [null, '(entry 2)', 'has no name that can be used'],
    ['ping', '(entry 2)', 'has no name that can be used'],
    [{ ...good, name: 'a', description: ['x'] }, 'a', 'its description is not a text'],
    [{ ...good, name: 'a', title: 7 }, 'a', 'its title is not a text'],
    [{ ...good, name: 'a', annotations: 'safe' }, 'a', 'its annotations are not an object'],
    [{ ...good, name: 'a', inputSchema: 'object' }, 'a', 'its inputSchema is not an object'],
    [{ name: 'a', inputSchema: { type: 'string' } }, 'a', 'its inputSchema is not of type object'],
    [
      {
        name: 'a',
        inputSchema: {
          type: 'object',
          properties: { coin: { type: 'string' }, required: ['coin'] },
        },
      },
      'a',
      'its inputSchema is no JSON Schema at properties.required',
    ],
    [
      { name: 'a', inputSchema: { type: 'object', properties: { n: { type: 'int' } } } },
      'a',
      'its inputSchema is no JSON Schema at properties.n.type',
    ],
    [
      { name: 'a', inputSchema: { type: 'object', required: 'n' } },
      'a',
      'its inputSchema is no JSON Schema at required',
    ],
    [{ ...good, name: 'a', outputSchema: 'text' }, 'a', 'its outputSchema is not an object'],
  ]
  it.each(odd)('%j is refused by name, and the others work', async (tool, key, why) => {
    const { items, refused } = await look(tool)
    expect(items.map((one) => one.key)).toEqual(['good'])
    expect(refused).toEqual([{ kind: 'tool', key, why }])
  })

  it('nextCursor: null ends the list, and a number is a cursor', async () => {
    expect((await look({ ...good, name: 'b' }, { nextCursor: null })).items).toHaveLength(2)
    const pages: Record<string, object> = {
      '': { tools: [good], nextCursor: 2 },
      '2': { tools: [{ ...good, name: 'second' }], nextCursor: null },
    }
    const about =
      era === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}
    const tools = ({ cursor = '' }: Readonly<Record<string, unknown>>) => ({
      ...about,
      ...pages[String(cursor)],
    })
    const world = createLinkWorld(createFakeMcp({ era, more: { 'tools/list': tools } }))
    expect((await world.look()).items.map(({ key }) => key)).toEqual(['good', 'second'])
  })

  it('resources, templates and prompts are read likewise', async () => {
    const world = listed(era, {
      'tools/list': { tools: [good] },
      'resources/list': {
        resources: [
          {
            uri: 'file:///a',
            name: null,
            title: null,
            description: null,
            mimeType: null,
            size: null,
          },
          { uri: 7, name: 'seven' },
          { uri: 'file:///b', name: 'b', annotations: null, icons: null, _meta: null },
        ],
        nextCursor: null,
      },
      'resources/templates/list': {
        resourceTemplates: [{ uriTemplate: 'file:///{x}', name: 'x', mimeType: null }, null],
      },
      'prompts/list': {
        prompts: [
          { name: 'p', arguments: null, description: null },
          { name: 'q', arguments: [{ name: 'a', description: null, required: null }] },
          { name: 'r', arguments: [{ description: 'without a name' }] },
        ],
      },
    })
    const { items, refused } = await world.look()
    expect(items.map(({ key }) => key)).toEqual([
      'good',
      'file:///a',
      'file:///b',
      'file:///{x}',
      'p',
      'q',
    ])
    expect(items.find(({ key }) => key === 'q')?.definition['arguments']).toEqual([{ name: 'a' }])
    expect(refused).toEqual([
      { kind: 'resource', key: '7', why: 'its uri is not a text' },
      { kind: 'template', key: '(entry 2)', why: 'has no name that can be used' },
      { kind: 'prompt', key: 'r', why: 'its arguments have one without a name' },
    ])
  })

  it('a list that is null is empty, and what is no list is said', async () => {
    const world = listed(era, {
      'tools/list': { tools: [good] },
      'resources/list': { resources: null },
      'prompts/list': { prompts: { p: {} } },
    })
    const { items, notes } = await world.look()
    expect(items.map(({ key }) => key)).toEqual(['good'])
    expect(notes).toEqual(['Its prompts cannot be listed.'])
    const none = listed(era, { 'tools/list': { tools: 'none' } })
    await expect(none.look()).rejects.toThrow('no list of tools')
  })

  it('half of a surrogate pair in a name, a text or a property is no half any more', async () => {
    const body = String.raw`{"name":"odd","description":"half \ud83d","inputSchema":{"type":"object","properties":{"a\udc00":{"description":"\ud83d\ude00"}}}}`
    const about =
      era === 'modern' ? '"resultType":"complete","ttlMs":0,"cacheScope":"private",' : ''
    const world = createLinkWorld(
      createFakeMcp({
        era,
        more: {
          'tools/list': (_params, { id }) =>
            new Response(
              `{"jsonrpc":"2.0","id":${Number(id)},"result":{${about}"tools":[${body}]}}`,
              {
                headers: { 'content-type': 'application/json' },
              },
            ),
        },
      }),
    )
    const [item] = (await world.look()).items
    expect(item?.definition).toEqual({
      name: 'odd',
      description: 'half \ufffd',
      inputSchema: { type: 'object', properties: { 'a\ufffd': { description: '😀' } } },
    })
  })
})

describe('A 14: what a server says it is', () => {
  it.each([
    [
      'nulls (Java)',
      { tools: { listChanged: null }, resources: null, logging: null, prompts: null },
    ],
    ['true and false', { tools: true, resources: false }],
    ['an empty list (PHP)', { tools: [] }],
    ['null', null],
  ])('capabilities with %s cost nothing', async (_what, capabilities) => {
    const initialize = () => ({
      protocolVersion: '2025-06-18',
      capabilities,
      serverInfo: { name: 'odd', version: null, title: null, icons: null, websiteUrl: null },
      instructions: null,
      _meta: null,
    })
    const world = createLinkWorld(createFakeMcp({ era: 'legacy', more: { initialize } }))
    const { items, server } = await world.look()
    expect(items.map(({ key }) => key)).toEqual(['say'])
    expect(server).toEqual({ name: 'odd', version: '' })
  })

  it('no serverInfo at all costs nothing', async () => {
    const initialize = () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} } })
    const world = createLinkWorld(createFakeMcp({ era: 'legacy', more: { initialize } }))
    expect((await world.look()).items).toHaveLength(1)
  })
})
