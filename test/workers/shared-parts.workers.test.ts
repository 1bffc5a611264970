import { afterEach, beforeAll, expect, it } from 'vitest'
import { callJson } from '../fakes/client.ts'
import { addPlugin, enablePlugin, pluginBundle, showPlugin } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamReply } from '../fakes/upstream.ts'

type Call = NonNullable<UpstreamReply['calls']>[number]

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

const keeping = ['files', 'memory', 'kv']
const addAgent = async (id: string, more: object) => {
  const agent = { integration_mode: 'tool', model: `openai/${id}`, instructions: 'p.md', ...more }
  await addPlugin({ ...pluginBundle(id, 'x', { agent }), files: { 'p.md': 'You keep things.' } })
  await enablePlugin(id)
}
beforeAll(async () => {
  await addAgent('partner', { uses_tools: keeping, shares: ['workspace', 'memory', 'storage'] })
  // Its turns are its own and those of whom it calls.
  await addAgent('loner', { uses_tools: [...keeping, 'partner'], limits: { max_turns: 30 } })
})

const write = (path: string): Call => ({ name: 'files__write', input: { path, text: path } })
const leave = (name: string): readonly Call[] => [
  write(name),
  { name: 'memory__note', input: { text: name } },
  { name: 'kv__set', input: { key: name, value: 1 } },
]
const lookAround: readonly Call[] = [
  { name: 'files__list', input: {} },
  { name: 'memory__recall', input: {} },
  { name: 'kv__list', input: {} },
]
const ask = (agent: string): Call => ({ name: `${agent}__run`, input: { task: 'go' } })
/** The orchestrator has what is installed behind its catalog. */
const askInstalled = (agent: string): Call => ({ name: 'isola__call', input: ask(agent) })

/** One run in which each model makes its calls in order. What each of them found when it looked around last: names. */
async function found(
  session: string,
  calls: Readonly<Record<string, readonly Call[]>>,
): Promise<Readonly<Record<string, readonly (readonly string[])[]>>> {
  const told: Record<string, readonly (readonly string[])[]> = {}
  upstream = installUpstream(({ model, messages }) => {
    const prompt = String(messages[0]?.content)
    const isReviewer = prompt.includes('review') && !prompt.includes('Available tools')
    const who = isReviewer ? 'code-reviewer' : model
    const task = messages.findLastIndex(({ role }) => role === 'user')
    const answers = messages.slice(task).filter(({ role }) => role === 'tool')
    const next = calls[who]?.[answers.length]
    if (next) return { calls: [next] }
    const names = answers.map(({ content }) => String(content).match(/of-\w+/g) ?? [])
    told[who] = names.slice(-lookAround.length)
    return { text: 'done' }
  })
  const { result } = await callJson(`/api/sessions/${session}/runs`, {
    json: { task: 'go', wait: true },
  })
  upstream.restore()
  expect(result).toMatchObject({ success: true, actions: result.actions.map(() => ({ ok: true })) })
  return told
}
const newSession = async (): Promise<string> => (await callJson('/api/sessions', { json: {} })).id
const everywhere = (...names: readonly string[]) => lookAround.map(() => names)

it('N5: a sub-agent that declares nothing finds nothing of its caller, and leaves nothing with it', async () => {
  const told = await found(await newSession(), {
    scripted: [...leave('of-root'), askInstalled('loner'), ...lookAround],
    loner: [...leave('of-loner'), ...lookAround],
  })
  expect(told).toEqual({ scripted: everywhere('of-root'), loner: everywhere('of-loner') })
})

it('N5: an agent that declares it has what its caller has, from before and from then on', async () => {
  const session = await newSession()
  await found(session, { scripted: leave('of-earlier') })
  const told = await found(session, {
    scripted: [askInstalled('partner'), ...lookAround],
    partner: [...leave('of-partner'), ...lookAround],
  })
  const both = everywhere('of-earlier', 'of-partner')
  expect(told).toEqual({ scripted: both, partner: both })
})

it('N5: and never more: not what the session above its caller has', async () => {
  const told = await found(await newSession(), {
    scripted: [...leave('of-root'), askInstalled('loner'), ...lookAround],
    loner: [...leave('of-loner'), ask('partner'), ...lookAround],
    partner: [...leave('of-partner'), ...lookAround],
  })
  const below = everywhere('of-loner', 'of-partner')
  expect(told).toEqual({ scripted: everywhere('of-root'), loner: below, partner: below })
})

it('N5: the bundled reviewer reads the files of its caller', async () => {
  const told = await found(await newSession(), {
    scripted: [write('of-root'), ask('code-reviewer')],
    'code-reviewer': [{ name: 'files__read', input: { path: 'of-root' } }],
  })
  expect(told['code-reviewer']![0]).toContain('of-root')
})

it('E2: the sharing of an agent is shown to the operator, who has to allow it', async () => {
  const { asks, lines } = await showPlugin('partner')
  expect(asks.agent.shares).toEqual(['workspace', 'memory', 'storage'])
  expect(lines).toContainEqual({ text: 'agent: shares workspace with its caller' })
  expect(JSON.stringify((await showPlugin('loner')).asks)).not.toContain('shares')
})
