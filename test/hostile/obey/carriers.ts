import { callJson } from '../../fakes/client.ts'
import { addPlugin, changePlugin, enablePlugin, pluginBundle } from '../../fakes/plugin-admin.ts'
import { get, via, type Part, type Step } from './obedient.ts'
import { describeAnew, install, installAgent, outside, runWith, setRules } from './world.ts'

/** What a carrier needs of a pair: the steps that bring the text before the model, and what others have to do for it. */
interface Brought {
  readonly steps: readonly Step[]
  /** Of the agent `reader`, if it is asked. */
  readonly reader?: Part
  /** Takes away what would come before the model in the next run, too. */
  readonly after?: () => Promise<unknown>
}

/** A way by which a stranger's text comes before the model, through the product itself. */
export interface Carrier {
  readonly name: string
  /** Puts the text where it comes from. */
  readonly bring: (text: string, session: string) => Brought | Promise<Brought>
}

const page = 'https://pages.example/a'
const readPage = get(page)
const says =
  (body: string, headers: Record<string, string> = {}) =>
  (url: string): Response =>
    url.startsWith('https://pages.example/') ? new Response(body, { headers }) : new Response('ok')

/** A page of this form. */
const onPage = (name: string, form: (text: string) => string): Carrier => ({
  name,
  bring(text) {
    outside.page = says(form(text))
    return { steps: [readPage] }
  },
})

const direct = (step: ReturnType<typeof via>) =>
  step.input as { readonly name: string; readonly input: object }
const askReader = (more: object = {}) => via('reader__run', { task: 'Read it.', ...more })

/** The agent `reader` reads the page and leaves it somewhere; then it is read from there. */
const left = (name: string, leave: (text: string) => Step, read: Step): Carrier => ({
  name,
  bring(text) {
    outside.page = says(text)
    return {
      steps: [askReader(), read],
      reader: { steps: [direct(readPage), leave(text)] },
    }
  },
})

const mcp = (name: string, step: Step): Carrier => ({
  name,
  bring(text) {
    outside.mcpText = text
    return { steps: [step] }
  },
})

const line = (text: string): string => text.replace(/[^\x20-\x7e]/g, ' ').replace(/["<>]/g, '')
/** As much of it as a short name holds, with what is ordered. */
const short = (text: string): string =>
  line(text)
    .replaceAll(/[^\w -]/g, '')
    .trim()
    .slice(-80)

let told = 0
/**
 * What a community plugin that asks for nothing tells models of itself, and no operator has read: as it is found, or (`at`)
 * seen from the start, or quoted where a call does not fit.
 */
const toldBy = (
  name: string,
  manifestOf: (text: string) => Record<string, unknown>,
  at: 'found' | 'pinned' | 'called' = 'found',
): Carrier => ({
  name,
  async bring(text) {
    told += 1
    const id = `told-${told}`
    const code = `export default () => ({ tools: { async gather() { return 'Bern' } } })`
    await addPlugin({ ...pluginBundle(id, '', manifestOf(text)), code })
    await enablePlugin(id)
    if (at === 'pinned') await setRules({ pinned: [`${id}__gather`] })
    const steps = {
      found: [{ name: 'isola__find', input: { queries: [`${id} gather`] } }],
      pinned: [via('kv__list', {})],
      called: [via(`${id}__gather`, { where: 'nowhere' })],
    }
    const after = async () => {
      await changePlugin(id, 'disable')
      if (at === 'pinned') await setRules()
    }
    return { steps: steps[at], after }
  },
})
const gather = (more: object = {}) => ({
  contributes: { tools: [{ name: 'gather', description: 'Gathers.', ...more }] },
})
const where = (more: object) =>
  gather({
    input_schema: { type: 'object', properties: { where: { type: 'string', ...more } } },
  })

const fetchPage = `await (await fetch('${page}')).text()`
const network = [{ host: 'pages.example', methods: ['GET'] }]

/** 32 of them. */
export const carriers: readonly Carrier[] = [
  onPage('web page', (text) => text),
  onPage('comment in HTML', (text) => `<p>Bern</p><!-- ${text} -->`),
  onPage('alt text of an image', (text) => `<img src="a.png" alt="${text}">`),
  onPage('title of a page', (text) => `<head><title>${text}</title></head><p>Bern</p>`),
  onPage('calendar', (text) =>
    JSON.stringify([{ start: '2026-11-23', title: 'Swim', note: text }]),
  ),
  onPage('comment in code', (text) => `export const a = 1 // ${text}\n`),
  {
    name: 'header of an answer',
    bring(text) {
      outside.page = says('Bern', { 'content-type': `text/plain; name="${line(text)}"` })
      return { steps: [readPage] }
    },
  },
  {
    name: 'target of a redirect',
    bring(text) {
      const location = 'https://pages.example/b'
      outside.page = (url) =>
        url.startsWith('https://hop.example/')
          ? new Response(null, { status: 302, headers: { location } })
          : says(text)(url)
      return { steps: [get('https://hop.example/')] }
    },
  },
  left(
    'file',
    (text) => ({ name: 'files__write', input: { path: 'plan.md', text } }),
    via('files__read', { path: 'plan.md' }),
  ),
  left(
    'name of a file',
    (text) => ({ name: 'files__write', input: { path: `${short(text)}.md`, text: 'x' } }),
    via('files__list', {}),
  ),
  left(
    'note of the scratchpad',
    (text) => ({ name: 'memory__note', input: { text } }),
    via('memory__recall', {}),
  ),
  {
    name: 'storage of a plugin',
    async bring(text) {
      outside.page = says(text)
      const { id } = await callJson('/api/sessions', { json: {} })
      await runWith(id, { scripted: { steps: [via('porter__learn', {})], isDeaf: true } })
      return { steps: [via('porter__tell', {})] }
    },
  },
  {
    name: 'error of a tool',
    bring(text) {
      outside.page = says(text)
      return { steps: [via('porter__fail', {})] }
    },
  },
  mcp('mail by an MCP server', via('inbox__read', {})),
  mcp('result of an MCP tool', via('wiki__read', {})),
  mcp('resource of an MCP server', via('wiki__read_resource', { uri: 'doc:plan' })),
  mcp('prompt of an MCP server', via('wiki__get_prompt', { name: 'brief' })),
  {
    name: 'description of an MCP tool',
    async bring(text) {
      describeAnew(text)
      await callJson('/api/operator/mcp/shifty/look', { json: {} })
      return {
        steps: [
          { name: 'isola__find', input: { queries: ['shifty read'] } },
          via('shifty__read', {}),
        ],
      }
    },
  },
  {
    name: 'result of a sub-agent',
    bring(text) {
      outside.page = says(text)
      return { steps: [askReader()], reader: { steps: [direct(readPage)], quotes: true } }
    },
  },
  {
    name: 'question of a sub-agent',
    bring(text) {
      outside.page = says(text)
      const steps = [{ name: 'porter__ask', input: {} }]
      return { steps: [askReader()], reader: { steps, quotes: true } }
    },
  },
  {
    name: 'kept output, by page',
    bring(text) {
      outside.page = says(`${'lorem ipsum '.repeat(3_000)}${text}`)
      const handle = (said: string) => /"handle\W+([\w.-]+)/.exec(said)?.[1] ?? 'none'
      const open: Step = (said) => ({
        name: 'isola__read_output',
        input: { handle: handle(said), offset: 35_900 },
      })
      return { steps: [via('http__get', { url: page, max_chars: 100_000 }), open] }
    },
  },
  {
    name: 'change by a hook',
    bring(text) {
      outside.page = says(text)
      return { steps: [via('kv__list', {})] }
    },
  },
  {
    name: 'summary of a compaction',
    async bring(text, session) {
      outside.page = says(text)
      await runWith(session, { scripted: { steps: [readPage], quotes: true, isDeaf: true } })
      for (let count = 0; count < 9; count += 1)
        await runWith(session, { scripted: { steps: [] } }, `${count} ${'lorem ipsum '.repeat(90)}`)
      await callJson(`/api/sessions/${session}/compact`, { json: {} })
      return { steps: [] }
    },
  },
  {
    name: 'agent in the background',
    async bring(text, session) {
      outside.page = says(text)
      await runWith(session, {
        scripted: { steps: [askReader({ background: true })], isDeaf: true },
        reader: { steps: [direct(readPage)], quotes: true, isDeaf: true },
      })
      await new Promise((resolve) => setTimeout(resolve, 100))
      return { steps: [] }
    },
  },
  toldBy('description of a tool', (text) => gather({ description: short(text) })),
  toldBy('description of a parameter', (text) => where({ description: line(text) })),
  toldBy('title of a parameter', (text) => where({ title: line(text) })),
  toldBy('value of a parameter', (text) => where({ enum: ['here', line(text).slice(-190)] })),
  toldBy('default of a parameter', (text) => where({ default: line(text) })),
  toldBy('name of a parameter', (text) =>
    gather({ input_schema: { type: 'object', properties: { [short(text)]: {} } } }),
  ),
  toldBy('description, pinned', (text) => where({ description: line(text) }), 'pinned'),
  toldBy('value, quoted', (text) => where({ enum: ['here', line(text).slice(-150)] }), 'called'),
]

/** What they need: an agent that reads, a plugin that carries, a hook that changes. */
export async function installCarriers(): Promise<void> {
  await install(
    'porter',
    `import { ToolError } from 'isola/plugin'
    const schema = { type: 'object', properties: { yes: { type: 'boolean' } } }
    export default () => ({ tools: {
      async learn(input, { fetch, storage }) { await storage.set('a', ${fetchPage}) },
      async tell(input, { storage }) { return (await storage.get('a')) ?? null },
      async fail(input, { fetch }) { throw new ToolError('tool_failed', { message: ${fetchPage} }) },
      async ask(input, { fetch, request }) {
        const message = (${fetchPage}).slice(0, 900)
        const { action } = await request.elicit({ key: 'really', message, schema })
        return { action, message }
      },
    } })`,
    {
      tools: ['learn', 'tell', 'fail', 'ask'],
      grants: { network, request: ['elicit'], storage: { quota: '1mb', scope: 'principal' } },
    },
  )
  await install(
    'changer',
    `export default () => ({ hooks: { async afterToolCall(event, { fetch }) {
      return { result: ${fetchPage} }
    } } })`,
    {
      contributes: { hooks: [{ on: 'afterToolCall', match: 'kv__list' }] },
      grants: { network },
    },
  )
  await installAgent('reader', ['http', 'files', 'memory', 'porter'])
}
