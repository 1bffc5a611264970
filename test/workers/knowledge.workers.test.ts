import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { addPlugin, changePlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

type By = { readonly headers: Record<string, string> }
let upstream: ReturnType<typeof installUpstream>
let query = ''

/** A model that looks up once what the test says, and says what it read. */
const looksUp = ({ messages }: UpstreamRequest) => {
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
  const answer = since.find(({ role }) => role === 'tool')
  if (answer || query === '') return { text: String(answer?.content ?? 'nothing') }
  return { calls: [{ name: 'knowledge__search', input: { query } }] }
}
beforeEach(() => {
  upstream = installUpstream(looksUp)
})
afterEach(() => upstream.restore())

const keyOf = async (principal: string): Promise<By> => {
  const { key } = await callJson('/api/operator/keys', { json: { principal, role: 'user' } })
  return { headers: { authorization: `Bearer ${key}` } }
}
/** An agent that answers out of documents: a manifest and a prompt, no code. */
async function retrievalAgent(id: string, knowledge?: object, uses = ['knowledge']): Promise<void> {
  await addPlugin({
    manifest: {
      id,
      name: 'Retrieval QA',
      version: '1.0.0',
      description: 'Answers questions out of documents.',
      agent: {
        integration_mode: 'tool',
        model: 'default',
        instructions: 'prompt.md',
        uses_tools: uses,
        ...(knowledge && { knowledge }),
      },
    },
    files: { 'prompt.md': 'Look it up with knowledge__search. Cite what you used.' },
  })
  await enablePlugin(id)
}
const put = (by: By, name: string, text: string, more: object = {}) =>
  callJson('/api/knowledge', { ...by, json: { name, text, ...more } })
/** One run in a session of its own. */
async function ask(by: By, agent: string, task: string, wanted = task): Promise<Answer> {
  query = wanted
  const { id } = await callJson('/api/sessions', { ...by, json: { agent } })
  const run = await callJson(`/api/sessions/${id}/runs`, { ...by, json: { task, wait: true } })
  return { ...run, session: id }
}
const citesOf = ({ result }: Answer): readonly string[] =>
  JSON.parse(result.result).passages.map(({ cite }: { cite: string }) => cite)
const principals = env.PRINCIPAL as unknown as DurableObjectNamespace
const objectOf = (principal: string) =>
  principals.getByName(sha256(`9:principal${principal.length}:${principal}`))

describe('I21, I23: an agent that looks things up', () => {
  it('reads passages with where they are, of its principal and of the deployment, and of no other principal', async () => {
    const [ada, ben] = [await keyOf('ada'), await keyOf('ben')]
    await retrievalAgent('retrieval-qa')
    await put(ada, 'tea.md', '# Tea\n\n## Green\nSteep sencha for three minutes.', {
      type: 'markdown',
    })
    await callJson('/api/knowledge', {
      json: { name: 'rules.txt', text: 'Sencha is for guests.', scope: 'deployment' },
    })
    const found = citesOf(await ask(ada, 'retrieval-qa', 'sencha'))
    expect(found.toSorted()).toEqual(['rules.txt, line 1', 'tea.md, “Tea › Green”, line 4'])
    expect(citesOf(await ask(ben, 'retrieval-qa', 'sencha'))).toEqual(['rules.txt, line 1'])
  })

  it('reads pages of the web as text under their headings', async () => {
    const cleo = await keyOf('cleo')
    const html =
      '<html><head><title>Caf&eacute; &amp; co</title><style>x{}</style></head><body><nav>Menu zebra</nav>' +
      '<h1>Beans</h1><p>Roast <b>them</b>&nbsp;slowly.<script>zebra()</script><h2>Grinding<p>Fine &#x2014; not coarse.' +
      '<pre>one\n  two</pre><svg/><ul><li>A</li><li>B</li></ul></body></html>'
    const { document } = await put(cleo, 'beans.html', html, { type: 'html' })
    expect(document).toMatchObject({ title: 'Café & co' })
    const { passages } = await callJson(`/api/knowledge/${document.id}`, cleo)
    expect(passages.map(({ headings, text }: Answer) => [headings, text])).toEqual([
      [['Beans'], 'Roast them slowly.'],
      [['Beans', 'Grinding'], 'Fine — not coarse.\n\none\n  two\n\nA\n\nB'],
    ])
  })

  it('markup that never ends costs only the document that has it', async () => {
    const dora = await keyOf('dora')
    const { document } = await put(
      dora,
      'bad.html',
      `<p>Fine.</p><script>${'<div>'.repeat(5_000)}`,
      {
        type: 'html',
      },
    )
    expect(document.passages).toBe(1)
    const deep = { name: 'deep.html', type: 'html', text: `${'<div>'.repeat(20_000)}Deep.` }
    const refused = await call('/api/knowledge', { ...dora, json: deep })
    expect(refused.status).toBe(400)
    expect(JSON.stringify(await refused.json())).toContain('nested too deep')
  })

  it('agent.knowledge says what it reaches', async () => {
    const eve = await keyOf('eve')
    await retrievalAgent('narrow', { scope: ['agent'] })
    await put(eve, 'a.txt', 'Marmalade of hers')
    await put(eve, 'b.txt', 'Marmalade of the agent', { scope: 'agent', agent: 'narrow' })
    expect(citesOf(await ask(eve, 'narrow', 'marmalade'))).toEqual(['b.txt, line 1'])
  })

  it('agent.knowledge.hydrate shows what fits before the first turn, and nothing of strangers', async () => {
    const fay = await keyOf('fay')
    await retrievalAgent('shown', { scope: ['principal'], hydrate: 3 })
    const { lines } = await callJson('/api/operator/plugins/shown')
    expect(lines.map(({ text }: Answer) => text).join()).toContain(
      'is shown passages of documents (principal)',
    )
    await put(fay, 'own.txt', 'The periwinkle is blue')
    await put(fay, 'web.txt', 'The periwinkle is CANARY', { integrity: 'stranger' })
    await put(fay, 'https://web.example/page', 'The periwinkle is CANARY too')
    await ask(fay, 'shown', 'Which colour has the periwinkle?', '')
    const said = JSON.stringify(upstream.requests.at(-1)!.messages)
    expect(said).toMatch(/not instructions[^]*own\.txt, line 1[^]*periwinkle is blue/)
    expect(said).not.toContain('CANARY')
  })

  it.each([
    ['stranger', 'stranger'],
    ['data', 'tool'],
  ])(
    'T4: what an agent keeps after it read a document of integrity %s is %s’s',
    async (integrity, kept) => {
      const gil = await keyOf(`gil-${integrity}`)
      upstream.restore()
      upstream = installUpstream(({ messages }) => {
        const done = messages.filter(({ role }) => role === 'tool').length
        const looks = { name: 'knowledge__search', input: { query: 'quagmires' } }
        const keeps = { name: 'memory__remember', input: { fact: 'They are deep' } }
        return done === 2 ? { text: 'Done' } : { calls: [done === 0 ? looks : keeps] }
      })
      await retrievalAgent(`keeps-${integrity}`, undefined, ['knowledge', 'memory'])
      await put(gil, 'web.txt', 'Quagmires are deep', { integrity })
      await ask(gil, `keeps-${integrity}`, 'Go')
      const { notes } = await callJson('/api/memory?query=deep', gil)
      expect(notes[0].label).toMatchObject({ integrity: kept, confidentiality: 'private' })
    },
  )
})

describe('I28: documents are sealed', () => {
  it('no word or name of one is in any row of its object, nor on the record', async () => {
    const hal = await keyOf('hal')
    await put(hal, 'xylophone.txt', 'The ottoline fell into a quagmire')
    const rows = await runInDurableObject(objectOf('hal'), (_object, { storage }) =>
      [...storage.sql.exec(`SELECT name FROM sqlite_master WHERE type = 'table'`)]
        .map(({ name }) => String(name))
        .filter((name) => !name.startsWith('_cf') && !name.startsWith('sqlite_'))
        .flatMap((name) => [...storage.sql.exec(`SELECT * FROM "${name}"`)])
        .flatMap((row) => Object.values(row))
        .map((value) =>
          value instanceof ArrayBuffer ? new TextDecoder('latin1').decode(value) : String(value),
        )
        .join('\n')
        .toLowerCase(),
    )
    expect(rows).toContain('doc_')
    const words = ['xylophone', 'ottoline', 'quagmire']
    expect(words.filter((word) => rows.includes(word))).toEqual([])
    const { records } = await callJson('/api/operator/audit?type=knowledge_changed')
    const own = records.filter(({ principal }: Answer) => principal === 'hal')
    expect(own).toMatchObject([{ data: { owner: 'hal', change: 'added', count: 1 } }])
    expect(words.filter((word) => JSON.stringify(own).includes(word))).toEqual([])
  })

  it('their keys are sealed anew with the secrets', async () => {
    const ida = await keyOf('ida')
    await put(ida, 'a.txt', 'One')
    const rotated = await callJson('/api/operator/secrets/rotate', { json: {} })
    expect(rotated.failed).toEqual([])
    expect(rotated.rotated + rotated.current).toBeGreaterThan(0)
  })
})

describe('a document that cannot be taken is refused, in words that help', () => {
  it.each([
    [{ name: 'a.pdf', text: '%PDF-1.7' }, 400, /isola knowledge add <file>\.pdf/],
    [{ name: 'a', type: 'docx', text: 'x' }, 400, /type/],
    [{ text: 'x' }, 400, /name/],
    [{ name: 'a', text: 'x', scope: 'agent' }, 400, /agent: whose the document is/],
    [{ name: 'a', text: 'x', scope: 'deployment' }, 403, /an operator’s to change/],
  ])('%j', async (json, status, message) => {
    const jo = await keyOf(`jo-${status}-${JSON.stringify(json).length}`)
    const refused = await call('/api/knowledge', { ...jo, json })
    expect(refused.status).toBe(status)
    expect(JSON.stringify(await refused.json())).toMatch(message)
  })

  it('a PDF itself', async () => {
    const headers = { 'content-type': 'application/pdf' }
    const refused = await call('/api/knowledge', { method: 'POST', headers, body: '%PDF-1.7' })
    expect(refused.status).toBe(415)
    expect(JSON.stringify(await refused.json())).toContain('isola knowledge add')
  })
})

describe('P29: memory and knowledge are around the loop of a deployment', () => {
  it('a run is reminded and shown before its model speaks, looks things up in it, and keeps what was said after it', async () => {
    const kim = await keyOf('kim')
    await addPlugin({
      manifest: {
        id: 'copilot',
        name: 'Copilot',
        version: '1.0.0',
        description: 'Answers with what it knows.',
        agent: {
          integration_mode: 'tool',
          model: 'default',
          instructions: 'prompt.md',
          uses_tools: ['knowledge', 'memory'],
          memory: { scope: ['principal'], write: 'turns' },
          knowledge: { scope: ['principal'], hydrate: 1 },
        },
      },
      files: { 'prompt.md': 'Answer.' },
    })
    await enablePlugin('copilot')
    await callJson('/api/memory', { ...kim, json: { notes: [{ text: 'Kim brews sencha' }] } })
    await put(kim, 'tea.txt', 'Sencha takes three minutes', { integrity: 'data' })
    const run = await ask(kim, 'copilot', 'How long does sencha take?')
    expect(run.state).toBe('completed')
    const [first, last] = [upstream.requests[0], upstream.requests.at(-1)]
    const before = JSON.stringify(first!.messages)
    expect(before).toMatch(/Kim brews sencha[^]*tea\.txt, line 1[^]*How long does sencha take/)
    expect(JSON.stringify(last!.messages)).toContain('"tool_call_id"')
    expect(citesOf(run)).toEqual(['tea.txt, line 1'])
    await vi.waitFor(
      async () => {
        const { notes } = await callJson('/api/memory?query=how long sencha', kim)
        expect(notes.map(({ kind }: Answer) => kind)).toContain('turn')
      },
      { timeout: 60_000 },
    )
  })

  it('P17: where a plugin that stands in for knowledge is broken, the model reads why and the run goes on', async () => {
    const lea = await keyOf('lea')
    await addPlugin({
      manifest: {
        id: 'broken',
        name: 'Broken',
        version: '1.0.0',
        entrypoint: 'main.ts',
        description: 'Keeps documents, or would.',
        contributes: { providers: ['knowledge'] },
      },
      code: 'export default () => ({ providers: { knowledge: async () => { throw new Error("x") } } })',
      files: {},
    })
    await enablePlugin('broken')
    const run = await ask(lea, 'retrieval-qa', 'sencha')
    await changePlugin('broken', 'disable')
    expect(run.state).toBe('completed')
    expect(run.result.actions).toMatchObject([{ tool: 'knowledge__search', ok: false }])
    expect(JSON.stringify(upstream.requests.at(-1)!.messages)).toMatch(
      /The plugin \W+broken\W+, which keeps the documents/,
    )
  })

  it.each(['knowledge', 'schedule'])(
    'T24: what tools of ours are called after is the id of no plugin, and of no server: %s',
    async (id) => {
      const json = { bundle: pluginBundle(id, 'hello') }
      const plugin = await call('/api/operator/plugins', { json })
      expect(plugin.status).toBe(422)
      expect(JSON.stringify(await plugin.json())).toContain('plugin_name_collision')
      const server = await call('/api/operator/mcp', {
        json: { id, url: 'https://tools.example.com/mcp' },
      })
      expect(server.status).toBe(409)
      expect(
        (await call('/api/operator/plugins', { json: { bundle: pluginBundle(`${id}x`, '') } }))
          .status,
      ).toBe(201)
    },
  )
})
