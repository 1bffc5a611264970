import { describe, expect, it, test } from 'vitest'
import {
  parseManifest,
  isSamePermit,
  permitLines,
  toPermit,
  widened,
  type Permit,
} from '../../../../src/runtime/catalog/types/permit.ts'

const manifest = (more: object = {}) =>
  parseManifest({ id: 'demo', name: 'Demo', version: '1.0.0', description: 'Shows.', ...more })
const permit = (more: object = {}) => toPermit(manifest(more))
const agent = (more: object = {}) => ({
  agent: { integration_mode: 'tool', model: 'small', instructions: 'a.md', ...more },
})

describe('what a plugin asks for', () => {
  it('T3: shows what hides of an older plugin as its code, and two lines never as one', () => {
    const text = (host: string) =>
      permitLines(permit({ grants: { network: [{ host, methods: ['GET'] }] } })).map(
        (line) => line.text,
      )
    expect(text('a.example\nsecret: NOTHING\u202e')).toEqual([
      'network: GET a.example\\u{a}secret: NOTHING\\u{202e}',
    ])
    expect(text('a\\u{202e}')).not.toEqual(text('a\u202e'))
  })

  it('P21: is nothing where nothing is declared', () => {
    expect(permitLines(permit())).toEqual([])
  })

  it('P15, E2: is a line for each host and method, secret, storage, model, tool, hook and limit', () => {
    const asks = permit({
      grants: {
        network: [{ host: 'a.example', methods: ['GET', 'POST'] }],
        secrets: [{ name: 'KEY', host: 'a.example', in: 'header' }],
        storage: { quota: '1mb', scope: 'principal' },
        model: { max_tokens: 500, models: ['small'] },
      },
      uses_tools: ['kv'],
      contributes: { hooks: [{ on: 'beforeToolCall', match: 'kv__*' }] },
      entrypoint: 'main.ts',
      ...agent({ uses_tools: ['http'] }),
    })
    expect(permitLines(asks).map(({ text }) => text)).toEqual(
      expect.arrayContaining([
        'network: GET a.example',
        'network: POST a.example',
        'secret: KEY (header authorization to a.example)',
        'storage of each principal, bytes',
        'model: tokens of each call',
        'model: small',
        'tools: its code calls kv',
        'hook: beforeToolCall of kv__*',
        'agent: runs on small',
        'agent: calls http',
        'agent: max_turns',
      ]),
    )
  })

  const base = {
    grants: {
      network: [{ host: 'a.example', methods: ['GET'] }],
      storage: { quota: '100kb', scope: 'session' },
      model: { max_tokens: 100, max_cost_usd: 1, models: ['small'] },
    },
    uses_tools: ['kv'],
    ...agent({ uses_tools: ['kv'] }),
  }
  const wider: readonly (readonly [string, object])[] = [
    [
      'another host',
      {
        ...base.grants,
        network: [...base.grants.network, { host: 'b.example', methods: ['GET'] }],
      },
    ],
    [
      'another method',
      { ...base.grants, network: [{ host: 'a.example', methods: ['GET', 'DELETE'] }] },
    ],
    ['a secret', { ...base.grants, secrets: [{ name: 'KEY', host: 'a.example', in: 'path' }] }],
    ['more storage', { ...base.grants, storage: { quota: '101kb', scope: 'session' } }],
    [
      'storage of another scope',
      { ...base.grants, storage: { quota: '1kb', scope: 'deployment' } },
    ],
    ['more tokens', { ...base.grants, model: { ...base.grants.model, max_tokens: 101 } }],
    ['any price', { ...base.grants, model: { max_tokens: 100, models: ['small'] } }],
    ['any model', { ...base.grants, model: { max_tokens: 100, max_cost_usd: 1 } }],
  ]
  test.each(wider)('E2: is more with %s', (_what, grants) => {
    expect(widened(permit({ ...base, grants }), permit(base))).toHaveLength(1)
  })

  it('E2: is more with a secret in another place, and the same where the place is only said now', () => {
    const secret = (place: object) =>
      permit({ grants: { secrets: [{ name: 'KEY', host: 'a.example', in: 'header', ...place }] } })
    const linesOf = (next: object) => widened(secret(next), secret({})).map(({ text }) => text)
    expect(linesOf({ at: 'X-Api-Key' })).toEqual(['secret: KEY (header x-api-key to a.example)'])
    expect(linesOf({ in: 'path', at: '/bot{}' })).toEqual([
      'secret: KEY (path /bot{} to a.example)',
    ])
    expect(linesOf({ at: 'Authorization' })).toEqual([])
  })

  it('E2: is more with another tool of its code or of its agent, a higher limit or another model', () => {
    const more = [
      { ...base, uses_tools: ['kv', 'http'] },
      { ...base, ...agent({ uses_tools: ['kv', 'http'] }) },
      { ...base, ...agent({ uses_tools: ['kv'], limits: { max_turns: 11 } }) },
      { ...base, ...agent({ uses_tools: ['kv'], model: 'large' }) },
      { ...base, schedule: '0 * * * *', entrypoint: 'main.ts' },
    ]
    for (const asks of more) expect(widened(permit(asks), permit(base))).toHaveLength(1)
  })

  it('N5, E2: is more with something of its caller that its agent begins to share, and not with less', () => {
    const sharing = (...shares: string[]) => permit(agent({ shares }))
    const more = widened(sharing('memory', 'workspace'), sharing('memory'))
    expect(more).toEqual([{ text: 'agent: shares workspace with its caller' }])
    expect(widened(sharing('memory'), sharing('memory', 'workspace'))).toEqual([])
    expect(isSamePermit(sharing(), permit(agent()))).toBe(true)
  })

  it('P32, E2: is more with an agent that begins to write code, and not with one that stops', () => {
    const [plain, coded] = [permit(agent()), permit(agent({ code_mode: true }))]
    expect(widened(coded, plain)).toEqual([{ text: 'agent: writes code that calls its tools' }])
    expect(widened(plain, coded)).toEqual([])
    expect(isSamePermit(plain, permit(agent({ code_mode: false })))).toBe(true)
  })

  it('E2: is more without the approval that a tool needed before', () => {
    const tools = (isAsked: boolean) => ({
      contributes: { tools: [{ name: 'pay', description: 'Pays.', requires_approval: isAsked }] },
      entrypoint: 'main.ts',
    })
    expect(widened(permit(tools(false)), permit(tools(true)))).toHaveLength(1)
    expect(widened(permit(tools(true)), permit(tools(false)))).toEqual([])
  })

  it('E2: is more with a higher limit of the platform or none, and not with one where none was', () => {
    const limited = (...limit: number[]) =>
      permit(agent({ limits: { ...(limit[0] && { max_platform_usd: limit[0] }) } }))
    expect(widened(limited(0.02), limited(0.01))).toHaveLength(1)
    expect(widened(limited(), limited(0.01))).toHaveLength(1)
    expect(widened(limited(0.01), limited(0.02))).toEqual([])
    expect(widened(limited(0.01), limited())).toEqual([])
  })

  it('P30, I27: is more with a tool that its agent was not to call, or that does not say any more what it destroys', () => {
    const held = (...disallowed: string[]) => agent({ disallowed_tools: disallowed })
    expect(widened(permit(held('kv')), permit(held('kv', 'http')))).toHaveLength(1)
    expect(widened(permit(held('kv', 'http')), permit(held('kv')))).toEqual([])
    const drop = (destructiveHint: boolean) => ({
      contributes: {
        tools: [{ name: 'drop', description: 'x', annotations: { destructiveHint } }],
      },
      entrypoint: 'main.ts',
    })
    expect(widened(permit(drop(false)), permit(drop(true)))).toHaveLength(1)
  })

  it('T11: is more with a tool that does not say any more what it does outward, and not with one that says so', () => {
    const pay = (sink?: string | readonly string[]) => ({
      contributes: { tools: [{ name: 'pay', description: 'x', ...(sink && { sink }) }] },
      entrypoint: 'main.ts',
    })
    expect(widened(permit(pay()), permit(pay('spend'))).map(({ text }) => text)).toEqual([
      'tool: does not say any more what it does outward (pay: spend)',
    ])
    expect(widened(permit(pay('spend')), permit(pay(['spend', 'message'])))).toHaveLength(1)
    expect(widened(permit(pay('spend')), permit(pay()))).toEqual([])
  })

  it('is not more with less', () => {
    const less = {
      ...base,
      grants: { storage: { quota: '1kb', scope: 'session' } },
      uses_tools: [],
    }
    expect(widened(permit(less), permit(base))).toEqual([])
    expect(isSamePermit(permit(less), permit(base))).toBe(false)
  })

  it('is the same in whatever order it is written', () => {
    const one = permit(base)
    const turned = Object.fromEntries(Object.entries(one).reverse()) as unknown as Permit
    expect(isSamePermit(one, turned)).toBe(true)
  })
})
