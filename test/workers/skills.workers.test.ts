import { afterEach, describe, expect, it, vi } from 'vitest'
import { createTokenEstimator } from '../../src/platform/models/estimate.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { connectLegacy, connectModern } from '../fakes/mcp-clients.ts'
import { changePlugin } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

const readTools = ({ messages }: UpstreamRequest): readonly Answer[] =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.parse(String(content)))

/**
 * One run of a model that looks for a way to do its task, loads the first skill that is found, and answers with the
 * headings of the form that the skill prescribes; without a skill it knows no form.
 */
async function runTask(query: string) {
  upstream = installUpstream((request) => {
    const [found, loaded] = readTools(request)
    if (!found) return { calls: [{ name: 'isola__find', input: { queries: [query] } }] }
    const [skill] = found.skills ?? []
    if (!skill) return { text: 'no form is known' }
    if (!loaded) return { calls: [{ name: 'isola__load_skill', input: { name: skill.name } }] }
    const form = /```markdown\n(.*?)```/s.exec(loaded.instructions)?.[1] ?? ''
    return { text: form.match(/^## .*$/gm)?.join(', ') ?? '' }
  })
  const { id } = await callJson('/api/sessions', { json: {} })
  const json = { task: query, wait: true }
  const { result } = await callJson(`/api/sessions/${id}/runs`, { json })
  const { requests, restore } = upstream
  restore()
  return { session: id as string, text: result.result as string, requests }
}

/** What the record has of a session. */
async function recorded(session: string, type: string, count: number): Promise<Answer> {
  const path = `/api/operator/audit?session=${session}`
  const isThere = async () =>
    expect((await callJson(`${path}&type=run_finished`)).records).toHaveLength(1)
  await vi.waitFor(isThere, { timeout: 60_000 })
  const { records } = await callJson(`${path}&type=${type}`)
  expect(records).toHaveLength(count)
  return records
}

describe('P7: a skill that ships', () => {
  it('is found, loaded and followed, and the record has it with its tokens', async () => {
    const { session, text, requests } = await runTask('write the minutes of a meeting')
    expect(text).toBe('## In short, ## Decisions, ## Actions, ## Topics, ## Open questions')
    const loaded = readTools(requests.at(-1)!)[1]
    expect(await recorded(session, 'skill_loaded', 1)).toMatchObject([
      {
        data: {
          name: 'meeting-minutes',
          hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
          tokens: createTokenEstimator().ofText(loaded.instructions),
        },
      },
    ])
  })

  it('C3: is on the record with the tools that were named beside it, and why', async () => {
    const query = 'write the minutes of a meeting'
    const { policy } = await callJson('/api/operator/policy')
    const denied = { ...policy, deny: ['memory__note'] }
    await callJson('/api/operator/policy', { json: { policy: denied } })
    const { session, requests } = await runTask(`${query} in a note`)
    await callJson('/api/operator/policy', { json: { policy } })
    const named = readTools(requests.at(-1)!)[0].tools.map(({ id }: Answer) => id)
    const [{ data }] = await recorded(session, 'tools_found', 1)
    expect(data.found.map(({ tool }: Answer) => tool)).toEqual(named)
    expect(data.found[0]).toMatchObject({ score: expect.any(Number) as number })
    expect(data).toMatchObject({ skills: ['meeting-minutes'], withheld: ['memory__note'] })
    expect(named).not.toContain('memory__note')
  })

  it('is not there for a task that none fits: the same model does not know the way', async () => {
    const { session, text } = await runTask('book a flight to Lisbon')
    expect(text).toBe('no form is known')
    await recorded(session, 'skill_loaded', 0)
  })

  it('is found as soon as what it requires is enabled', async () => {
    const query = 'remove duplicates from messy CSV data'
    expect((await runTask(query)).text).toBe('no form is known')
    await changePlugin('code', 'enable')
    const { requests } = await runTask(query)
    expect(readTools(requests.at(-1)!)[1]).toMatchObject({ skill: 'data-cleaning' })
    await changePlugin('code', 'disable')
  })

  it('E9: is listed with what it costs, what it lacks, and its files', async () => {
    const path = '/api/operator/skills'
    const { skills } = await callJson(path)
    const named = (name: string) => skills.find((one: Answer) => one.name === name)
    expect(named('data-cleaning')).toMatchObject({ state: 'gated', missing: ['tool:code__run'] })
    expect(named('concise')).toMatchObject({
      kind: 'persona',
      state: 'ready',
      tokens: { found: 0 },
    })
    for (const { kind, tokens } of skills.filter((one: Answer) => one.kind === 'skill')) {
      expect([kind, tokens.found > 30, tokens.found < 130]).toEqual(['skill', true, true])
      expect(tokens.loaded).toBeGreaterThan(300)
    }
    await changePlugin('code', 'enable')
    expect(await callJson(`${path}/data-cleaning`)).toMatchObject({ state: 'ready', missing: [] })
    await changePlugin('code', 'disable')
    const { files } = await callJson(`${path}/plugin-authoring`)
    expect(Object.keys(files)).toEqual(['SKILL.md', 'references/refused.md'])
    expect((await call(`${path}/nothing`)).status).toBe(404)
  })

  it('cannot be fetched from outside as a file of the deployment', async () => {
    expect((await call('/skills.json', { headers: { authorization: '' } })).status).toBe(401)
    expect((await call('/skills.json')).status).toBe(404)
  })
})

describe.each([
  ['2026-07-28', connectModern],
  ['2025', connectLegacy],
])('P19: skills that ship, for an MCP client of %s', (_era, connect) => {
  afterEach(async () => void (await callJson('/api/operator/exposed', { json: { exposed: {} } })))

  it('are resources and prompts once an operator has named them', async () => {
    const before = await connect()
    expect((await before.listPrompts()).prompts).toEqual([])
    await before.close()
    const exposed = { skills: ['plugin-authoring'], public_skills: ['research'] }
    await callJson('/api/operator/exposed', { json: { exposed } })
    const client = await connect()
    expect(client.getServerCapabilities()).toMatchObject({
      extensions: { 'io.modelcontextprotocol/skills': {} },
    })
    const { resources } = await client.listResources()
    const uris = resources.map(({ uri }) => uri)
    expect(uris).toEqual(
      expect.arrayContaining(['skill://plugin-authoring/SKILL.md', 'skill://research/SKILL.md']),
    )
    const uri = 'skill://plugin-authoring/references/refused.md'
    const { contents } = (await client.readResource({ uri })) as Answer
    expect(contents).toMatchObject([{ uri, mimeType: 'text/markdown' }])
    expect(contents[0].text).toMatch(/^# When a plugin is refused/)
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(['plugin-authoring', 'research'])
    const given = { name: 'research', arguments: { task: 'coffee' } }
    const { messages } = (await client.getPrompt(given)) as Answer
    expect(messages[0].content.text).toMatch(/name: research[^]*What is to be done: coffee$/)
    await expect(client.readResource({ uri: 'skill://teacher/SKILL.md' })).rejects.toThrow()
    await client.close()
  })
})
