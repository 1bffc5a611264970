import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { answeringClient } from '../../fakes/app-client.ts'
import { runVerb } from '../../fakes/run-verb.ts'
import mcp from '../../../cli/mcp.ts'
import { viewOf as show } from '../../../cli/mcp/view.ts'
import { toServerId, toServers } from '../../../cli/mcp/add.ts'

/** The fields of a server that these tests look at; the rest is left out. */
const viewOf = (view: object) => show(view as never)

describe('isola mcp add --file', () => {
  it('takes an mcpServers block: placeholders become secrets, and what cannot run here is told', () => {
    const { servers, skipped } = toServers({
      mcpServers: {
        'Docs Server': {
          type: 'http',
          url: 'https://docs.example.com/mcp',
          headers: { Authorization: 'Bearer ${DOCS_KEY:-}' },
        },
        env: {
          serverUrl: 'https://e.example.com/mcp',
          headers: { 'X-Api-Key': '${env:api-key}', 'X-Team': 'blue' },
        },
        login: { url: 'https://l.example.com/mcp', oauth_resource: 'https://l.example.com' },
        local: { command: 'npx', args: ['-y', 'some-server'] },
        old: { type: 'sse', url: 'https://o.example.com/sse' },
        odd: 'text',
      },
    })
    expect(servers).toEqual([
      {
        id: 'docs-server',
        url: 'https://docs.example.com/mcp',
        headers: { Authorization: 'Bearer ${secret:DOCS_KEY}' },
      },
      {
        id: 'env',
        url: 'https://e.example.com/mcp',
        headers: { 'X-Api-Key': '${secret:API_KEY}', 'X-Team': 'blue' },
      },
      { id: 'login', url: 'https://l.example.com/mcp', headers: {}, auth: 'oauth' },
    ])
    expect(skipped).toMatchObject([
      { id: 'local', why: expect.stringContaining('not runnable here') },
      { id: 'old', why: expect.stringContaining('SSE') },
      { id: 'odd' },
    ])
  })

  it("takes a registry's server.json", () => {
    const remote = { type: 'streamable-http', url: 'https://t.example.com/mcp' }
    const headers = [
      { name: 'Authorization', value: 'Bearer {token}' },
      { name: 'X-Key', isSecret: true },
    ]
    expect(
      toServers({ name: 'com.example/Tickets', remotes: [{ ...remote, headers }] }).servers,
    ).toEqual([
      {
        id: 'tickets',
        url: 'https://t.example.com/mcp',
        headers: { Authorization: 'Bearer ${secret:TOKEN}', 'X-Key': '${secret:TICKETS_X_KEY}' },
      },
    ])
    const packages = [{ registryType: 'npm', transport: { type: 'stdio' } }]
    expect(toServers({ name: 'a/b', packages }).skipped[0]?.why).toContain('not runnable here')
    const templated = [{ type: 'streamable-http', url: 'https://{tenant}.example.com/mcp' }]
    expect(toServers({ name: 'a/b', remotes: templated }).skipped[0]?.why).toContain('you choose')
    for (const other of [null, [], {}, { name: 'x' }, 'text'])
      expect(() => toServers(other)).toThrow('neither')
  })

  it.each([
    ['io.github.x/My_Server', 'my-server'],
    ['123', 'server'],
    ['工具', 'server'],
    ['a'.repeat(40), 'a'.repeat(24)],
  ])('makes an id of %s', (name, id) => expect(toServerId(name)).toBe(id))
})

describe('T13: isola mcp approve', () => {
  const hash = 'ab'.repeat(32)
  const view = {
    id: 'srv',
    state: 'added',
    config: { url: 'https://mcp.example.com/mcp' },
    login: 'none',
    listing: {
      server: { name: 'x', version: '1' },
      items: [
        { kind: 'tool', key: 'ok' },
        { kind: 'prompt', key: 'ok' },
      ],
      refused: [],
      notes: [],
      hash,
    },
    differences: [],
  }
  const approve = async (values: object, answer?: string, items: readonly string[] = []) => {
    const sent: unknown[] = []
    const stderr = new PassThrough()
    const stdin = Object.assign(new PassThrough(), { isTTY: answer !== undefined })
    if (answer !== undefined) stdin.write(`${answer}\n`)
    const { request } = answeringClient((_path, body) => {
      if (body !== undefined) sent.push(body)
      return body === undefined ? view : { notes: [] }
    })
    const given = { args: ['srv', ...items], values, request, stdin, stderr, print: () => {} }
    const failed = await Promise.resolve(runVerb(mcp.verbs.approve, given)).then(
      () => '',
      (error: Error) => error.message,
    )
    return { sent, failed, shown: String(stderr.read() ?? '') }
  }

  it('without a terminal wants the hash of what was shown', async () => {
    for (const values of [{ yes: true }, {}, { yes: true, hash: 'abab' }, { hash }])
      expect(await approve(values)).toMatchObject({ sent: [], failed: expect.stringMatching(/./) })
    expect(await approve({ yes: true, hash: 'c'.repeat(12) })).toMatchObject({
      sent: [],
      failed: expect.stringContaining('any more'),
    })
    const done = await approve({ yes: true, hash: hash.slice(0, 12) })
    expect(done).toMatchObject({ failed: '', sent: [{ hash }] })
  })

  it('at a terminal shows what it is and asks', async () => {
    const no = await approve({}, 'n')
    expect(no).toMatchObject({ sent: [], failed: 'Nothing was approved.' })
    expect(no.shown).toContain(hash)
    expect(await approve({}, 'y')).toMatchObject({ failed: '', sent: [{ hash }] })
  })

  it('sends no request for a name that is more than one thing, or nothing', async () => {
    for (const [name, why] of [
      ['ok', 'say which: tool:ok or prompt:ok'],
      ['other', 'has no "other"'],
    ] as const)
      expect(await approve({}, 'y', [name])).toEqual({
        sent: [],
        failed: expect.stringContaining(why),
        shown: '',
      })
    expect(await approve({ closed: ['*'], confirm: ['*'] }, 'y')).toMatchObject({
      sent: [{ hash, confirm: ['*'], closed: ['*'] }],
    })
    expect(await approve({}, 'y', ['tool:ok'])).toMatchObject({
      failed: '',
      sent: [{ hash, items: ['tool:ok'] }],
    })
  })
})

it('isola mcp show names each header with its secrets, and which of them are not set', () => {
  const text = viewOf({
    id: 'srv',
    state: 'added',
    config: {
      url: 'https://mcp.example.com/mcp',
      headers: {
        Authorization: 'Bearer ${secret:A_KEY}',
        'X-Key': '${secret:B_KEY}',
        'X-Team': 'b',
      },
      clientSecret: '${secret:C_KEY}',
    },
    login: 'none',
    problem: 'The secret B_KEY is not set',
    missingSecrets: ['B_KEY'],
    differences: [],
  })
  expect(text.split('\n').slice(1)).toEqual([
    'Header Authorization: A_KEY',
    'Header X-Key: B_KEY (not set; set it: isola secret set B_KEY)',
    'Header X-Team',
    'Client secret: C_KEY',
    'It was not looked at yet.',
  ])
})

it('isola mcp show says of which tools the word of the server is believed', () => {
  const view = {
    id: 'srv',
    state: 'enabled',
    config: { url: 'https://mcp.example.com/mcp' },
    login: 'none',
    differences: [],
  }
  expect(viewOf({ ...view, confirmed: ['say', 'tell'] })).toContain('(--confirm): say, tell\n')
  expect(viewOf({ ...view, confirmed: [] })).not.toContain('--confirm')
})

it('isola mcp show has what was left out before what is there', () => {
  const note = 'Of its tools only the first 500 are looked at.'
  const text = viewOf({
    id: 'srv',
    state: 'added',
    config: { url: 'https://mcp.example.com/mcp' },
    login: 'none',
    listing: { server: { name: 'x', version: '1' }, refused: [], notes: [note] },
    differences: [{ kind: 'tool', key: 'say', tool: 'say', state: 'new', lines: [] }],
  })
  expect(text).toContain(`Note: ${note}\n+ tool say: new`)
})

it('isola mcp show says what is not as approved, and nothing in it moves a cursor', () => {
  const text = viewOf({
    id: 'srv',
    state: 'enabled',
    config: { url: 'https://mcp.example.com/mcp' },
    login: 'none',
    listing: { server: { name: 'x\u001b[2J', version: '1' }, refused: [], notes: [] },
    differences: [
      {
        kind: 'tool',
        key: 'say',
        tool: 'say',
        state: 'changed',
        lines: ['+ description: \u001b]0;evil\u0007'],
      },
    ],
  })
  expect(text).toContain('! tool say: changed')
  expect(text).toContain('isola mcp approve srv')
  expect(text).not.toMatch(/\p{Cc}(?<!\n)/u)
})

it('isola mcp show says whose world is closed, as its operator said', () => {
  const text = viewOf({
    id: 'srv',
    state: 'enabled',
    config: { url: 'https://mcp.example.com/mcp' },
    differences: [],
    closed: ['find', 'list'],
  })
  expect(text).toContain('Reaches no stranger, as you said (--closed): find, list')
})
