import { describe, expect, it } from 'vitest'
import { openCapabilities } from '../../../../src/features/plugins/capabilities/capabilities.ts'
import { createHostStubs } from '../../../../src/features/plugins/sandbox/host-stubs.ts'
import { bundleTools, createCapabilityDeps, loadOne } from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'
import { dataOf } from '../../../fakes/events.ts'

/** The stubs of one call of a plugin with these grants, over the real capabilities. */
function createStubs(grants: object = { storage: '1mb' }) {
  const plugin = loadOne(bundleTools({ go: async () => 1 }, { grants }))
  const context = createToolContext()
  const fetch = async (): Promise<Response> => new Response('page')
  const open = openCapabilities(plugin, context, createCapabilityDeps({ fetch }))
  const stubs = createHostStubs(open.capabilities, open.capabilities.signal)
  const ask = async (verb: string, ...given: readonly unknown[]): Promise<unknown> =>
    JSON.parse(await stubs.port(verb, JSON.stringify(given)))
  return { ...stubs, ask, close: open.close, events: context.events }
}

const refused = (message: RegExp | string) => ({
  error: {
    message: (typeof message === 'string' ? message : expect.stringMatching(message)) as unknown,
    transient: false,
  },
})

describe('the port', () => {
  it('serves what the call was granted, with the capabilities of the other host', async () => {
    const { ask } = createStubs()
    expect(await ask('storage.get', 'a')).toEqual({})
    expect(await ask('storage.set', 'a', { b: 1 })).toEqual({})
    expect(await ask('storage.get', 'a')).toEqual({ value: { b: 1 } })
    expect(await ask('storage.list', {})).toEqual({ value: ['a'] })
    expect(await ask('storage.delete', 'a')).toEqual({ value: true })
  })

  it('refuses what was not granted in the words of the other host', async () => {
    const { ask } = createStubs({})
    expect(await ask('storage.get', 'a')).toEqual(refused(/not granted: storage/))
    expect(await ask('workspace.list', {})).toEqual(refused(/not granted: workspace/))
    expect(await ask('memory.read', {})).toEqual(refused(/not granted: memory/))
  })

  it('writes log and progress into the record', async () => {
    const { ask, events } = createStubs()
    await ask('log', 'one')
    await ask('progress', 'two')
    expect(events.map((event) => [event.type, dataOf(event)['message']])).toEqual([
      ['tool_log', 'one'],
      ['tool_progress', 'two'],
    ])
  })

  it.each(['', 'get', 'storage', 'storage.ask', '__proto__', 'constructor', 'toString', 'fetch'])(
    'T8: has no verb "%s"',
    async (verb) => {
      expect(await createStubs().ask(verb)).toEqual(refused(`There is no verb "${verb}".`))
    },
  )

  it.each([
    ['storage.get', []],
    ['storage.get', [7]],
    ['storage.get', ['a', 'b']],
    ['storage.set', ['a']],
    ['storage.list', [{ prefix: 7 }]],
    ['storage.list', [{ space: 'workspace' }]],
    ['memory.search', [{}, {}]],
    ['log', [{}]],
  ] as const)('T8: %s takes no arguments but its own', async (verb, given) => {
    expect(await createStubs().ask(verb, ...given)).toEqual(refused(/^Arguments: /))
  })

  it('T8: says so when arguments are no JSON', async () => {
    const answer: unknown = JSON.parse(await createStubs().port('log', '{'))
    expect(answer).toEqual(refused('Arguments are JSON.'))
  })

  it('T8: takes no value of a million levels', async () => {
    const depth = 1_000_000
    const json = `["a",${'['.repeat(depth)}${']'.repeat(depth)}]`
    const answer: unknown = JSON.parse(await createStubs().port('storage.set', json))
    expect(answer).toEqual(refused(/deeper than 100 levels/))
  })

  it('T10: is dead when the call is over', async () => {
    const { ask, close, closed, fetcher } = createStubs()
    close()
    await closed()
    expect(await ask('storage.get', 'a')).toEqual(refused('This call is over.'))
    expect(await fetcher('{"url":"https://api.example.com/"}')).toContain('This call is over.')
  })
})

describe('the fetcher', () => {
  const network = { network: [{ host: 'api.example.com', methods: ['GET'] }] }

  it('reaches the granted host, and each request is on the record', async () => {
    const { fetcher, events } = createStubs(network)
    const answer = await fetcher('{"url":"https://api.example.com/"}')
    expect(await (answer as Response).text()).toBe('page')
    expect(events).toMatchObject([{ type: 'network_requested', data: { status: 200 } }])
  })

  it.each([
    ['{"url":"https://elsewhere.example.com/"}', /not granted: network/],
    ['{"url":"http://api.example.com/"}', /only https/],
    ['{"url":7}', /Arguments/],
    ['{"url":"https://api.example.com/","redirect":"follow"}', /Arguments/],
    ['{"url":"https://api.example.com/","headers":{"a":1}}', /Arguments/],
    ['no json', /Arguments are JSON/],
  ])('refuses %s', async (request, message) => {
    const answer = await createStubs(network).fetcher(request)
    expect(JSON.parse(String(answer))).toEqual(refused(message))
  })
})
