import { describe, expect, it } from 'vitest'
import { joinLabels, labelFrom, saidLabel, type Label } from '#contracts/label.ts'
import type { StorageRequest } from '#contracts/space.ts'
import { grantsSchema } from '../../../../src/contracts/manifest/manifest.ts'
import {
  createCallLabels,
  placeOf,
  sinksOf,
  yieldsOf,
  yieldsOfCall,
} from '../../../../src/features/plugins/capabilities/plugin-flow.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

const granted = (given: object) => grantsSchema.parse(given)
const community = (given: object) => ({ tier: 'community', granted: granted(given) }) as const
const builtin = (given: object) => ({ tier: 'builtin', granted: granted(given) }) as const
const hosts = (...methods: string[]) => ({ network: [{ host: 'api.example', methods }] })
const reads = { readOnlyHint: true, openWorldHint: true }
const made: Label = { integrity: 'tool', confidentiality: 'public', sources: [] }
const open = labelFrom('demo__go', { confidentiality: 'public' })

describe('what a plugin’s tool does outward', () => {
  it.each([
    ['nothing without grants', community({}), {}, []],
    ['a request that reads is egress', community(hosts('GET')), reads, ['egress']],
    [
      'one that may send writes, whatever it says',
      community(hosts('POST')),
      reads,
      ['egress', 'write'],
    ],
    ['but for one of ours that says it reads', builtin(hosts('POST')), reads, ['egress']],
    ['or that it stays here', builtin(hosts('POST')), {}, []],
    ['keeping for the session or the principal is none', community({ storage: '1mb' }), {}, []],
    [
      'keeping for everybody is writing',
      community({ storage: { quota: '1mb', scope: 'deployment' } }),
      {},
      ['write'],
    ],
    ['a database', builtin({ database: { binding: 'SQL', access: 'write' } }), {}, ['write']],
    ['read only', builtin({ database: { binding: 'SQL', access: 'read' } }), {}, []],
  ])('T11: %s', (_what, plugin, hints, expected) => {
    expect(sinksOf(plugin, hints)).toEqual(expected)
  })

  it('T11: a tool’s own declarations are added to those of its grants, and take nothing away', () => {
    expect(sinksOf(community({}), {}, ['spend'])).toEqual(['spend'])
    expect(sinksOf(community(hosts('POST')), reads, ['message', 'code', 'code'])).toEqual([
      'egress',
      'write',
      'message',
      'code',
    ])
  })
})

describe('where a plugin’s tool goes', () => {
  const manifest = { id: 'demo' } as never
  const both = { network: ['a.example', 'b.example'].map((host) => ({ host, methods: ['GET'] })) }
  const every = { network: [{ host: '*', methods: ['GET'] }] }
  it.each([
    ['nowhere without grants', community({}), undefined],
    ['to the one host that it was granted', community(hosts('GET')), { home: 'demo__*' }],
    ['to one of several, nobody knows to which', community(both), {}],
    ['anywhere with a grant of every host', builtin(every), undefined],
  ])('%s', (_what, plugin, expected) => {
    expect(placeOf({ ...plugin, manifest }, reads)).toEqual(expected)
  })
})

describe('what a plugin’s tool returns', () => {
  const key = { name: 'TOKEN', host: 'api.example', in: 'header' }
  it.each([
    ['is made by itself without grants', community({}), made],
    ['is a stranger’s where it reaches out', community(hosts('GET')), open],
    [
      'is private with a key',
      community({ ...hosts('GET'), secrets: [key] }),
      labelFrom('demo__go'),
    ],
    [
      'is public with a key of ours that says so',
      builtin({ ...hosts('GET'), secrets: [key] }),
      open,
    ],
    [
      'is anybody’s and private out of a database',
      builtin({ database: { binding: 'SQL', access: 'read' } }),
      labelFrom('demo__go'),
    ],
  ])('%s', (_what, plugin, expected) => {
    expect(yieldsOf(plugin, reads, 'demo__go')).toEqual(expected)
  })

  it('names the host, and is private where the model brought a key', () => {
    const goesTo = { method: 'GET', url: 'https://a.example/x' }
    const of = (input: Record<string, object>) =>
      yieldsOfCall(builtin(hosts('GET')), reads, {
        tool: 'http__get',
        input: input as never,
        goesTo,
      })
    expect(of({})).toEqual(labelFrom('http__get a.example', { confidentiality: 'public' }))
    expect(of({ headers: { authorization: 'x' } })).toEqual(labelFrom('http__get a.example'))
  })

  it.each([
    ['https://a.example/wiki/2024_Summer_Olympics_medal_table?page=2&lang=en', {}, 'public'],
    ['https://a.example/?q=how+tall+is+the+tower', {}, 'public'],
    ['https://a.example/?api_key=x', {}, 'private'],
    ['https://a.example/?X-Amz-Signature=x', {}, 'private'],
    ['https://a.example/?d=c2VjcmV0MTIzNDU2Nzg5MA', {}, 'private'],
    ['https://me:pw@a.example/', {}, 'private'],
    ['https://a.example/bot123456:AAE9x8c7v6b5n4m3q2w1/getMe', {}, 'private'],
    ['https://a.example/', { body: '{"password":"x"}' }, 'private'],
  ])('T11: is private where the request may say who asks: %s', (url, input, expected) => {
    const goesTo = { method: 'POST', url }
    const call = { tool: 'http__request', input, goesTo }
    const { confidentiality, sources } = yieldsOfCall(builtin(hosts('POST')), reads, call)
    expect([confidentiality, sources[0]?.from]).toEqual([expected, 'http__request a.example'])
  })
})

describe('the labels of one call', () => {
  it('T23: a stored value has all labels that the call knows, and a read value is the principal’s', async () => {
    const asked: StorageRequest[] = []
    const old = labelFrom('http__get news.example')
    const context = createToolContext({ label: saidLabel })
    const labels = createCallLabels(made, { tool: 'kv__swap', context })
    const ask = labels.wrap(async (request) => {
      asked.push(request)
      return request.verb === 'get' ? { found: true, value: 1, label: old } : { found: true }
    })
    await ask({ verb: 'set', space: 's', key: 'a', value: 1, quotaBytes: 9 })
    expect(labels.label()).toEqual(made)
    await ask({ verb: 'get', space: 's', key: 'b' })
    const read = joinLabels([made, old, labelFrom('kv__swap', { integrity: 'data' })])
    expect(labels.label()).toEqual(read)
    await ask({ verb: 'append', space: 's', text: 'x', maxEntries: 9 })
    expect(asked.map((one) => ('label' in one ? one.label : undefined))).toEqual([
      joinLabels([saidLabel, made]),
      undefined,
      joinLabels([saidLabel, read]),
    ])
  })

  it('a key that was never there has no label, and a value without a label has the worst', async () => {
    const labels = createCallLabels(open, { tool: 'kv__get', context: createToolContext() })
    await labels.wrap(async () => ({ found: false }))({ verb: 'get', space: 's', key: 'b' })
    expect(labels.label()).toEqual(made)
    labels.reach()
    expect(labels.label()).toEqual(open)
    const ask = labels.wrap(async () => ({ keys: ['b'] }))
    await ask({ verb: 'list', space: 's', prefix: '', limit: 9 })
    expect(labels.label()).toMatchObject({ integrity: 'stranger', confidentiality: 'private' })
  })

  it('T11: an answer after a redirect is from both hosts', () => {
    const first = labelFrom('http__get a.example', { confidentiality: 'public' })
    const labels = createCallLabels(first, { tool: 'http__get', context: createToolContext() })
    labels.reach()
    labels.reachHost('b.example')
    expect(labels.label()).toMatchObject({ integrity: 'stranger', confidentiality: 'public' })
    expect(labels.label().sources.map(({ from }) => from)).toEqual([
      'http__get a.example',
      'http__get b.example',
    ])
  })
})
