import { afterEach, describe, expect, it } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { runOnce } from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

const path = '/api/operator/policy'
const setPolicy = (policy: object): Promise<Answer> => callJson(path, { json: { policy } })
let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(async () => {
  upstream?.restore()
  await setPolicy({})
})

/** A model that calls a tool so many times at once, and then says what it heard. */
const calling = (name: string, input: object, times = 1) =>
  (upstream = installUpstream(({ messages }) => {
    const answers = messages.filter(({ role }) => role === 'tool')
    return answers.length > 0
      ? { text: answers.map(({ content }) => String(content)).join('\n') }
      : { calls: Array.from({ length: times }, () => ({ name, input })) }
  }))
const set = { key: 'a', value: 1 }

describe('the policy of a deployment', () => {
  it('P4, C5: holds for the next call without a restart, and is on the record as what changed', async () => {
    calling('kv__set', set)
    expect(await runOnce()).not.toContain('tool_denied')
    const { notes, generation } = await setPolicy({ deny: ['kv__*'] })
    expect(notes).toEqual(['+ deny kv__*'])
    expect(await runOnce()).toContain('tool_denied')
    expect((await callJson(path)).generation).toBe(generation)
    const { records } = await callJson('/api/operator/audit?session=deployment&limit=500')
    expect(records.at(-1)).toMatchObject({
      type: 'policy_changed',
      principal: 'operator',
      data: { added: ['deny kv__*'], removed: [], generation },
    })
    await setPolicy({})
    expect(await runOnce()).not.toContain('tool_denied')
  })

  it('stays as it is when plugins go back, unless the policy of then is asked for', async () => {
    const { generation } = await setPolicy({ deny: ['http__*'] })
    await setPolicy({ deny: ['kv__*'] })
    const back = `/api/operator/generations/${generation}/restore`
    await callJson(back, { json: {} })
    expect((await callJson(path)).policy.deny).toEqual(['kv__*'])
    await callJson(back, { json: { withPolicy: true } })
    expect((await callJson(path)).policy.deny).toEqual(['http__*'])
  })

  it('T11: says of a call that is not made what its labels, their sources and its address come to', async () => {
    await setPolicy({ network: { hosts: ['*'] } })
    const tried = (label: object, url = 'https://other.example/') =>
      callJson(`${path}/test`, { json: { tool: 'http__get', sinks: ['egress'], label, url } })
    const from = 'http__get news.example'
    const sources = [{ from, confidentiality: 'public' }]
    const { verdict, about } = await tried({ sources })
    expect([verdict, about]).toEqual(['ask', expect.stringContaining(from)])
    expect((await tried({ sources }, 'https://news.example/x')).verdict).toBe('allow')
    expect((await tried({ sources: [{ from: 'crm__find' }] })).about).toContain('private')
    expect((await tried({ integrity: 'user' })).verdict).toBe('allow')
  })

  it('T11, I27: says of a call what would become of it, by what its tool does and where it goes', async () => {
    const tried = async (tool: string, more: object = {}) => {
      const { verdict, reason } = await callJson(`${path}/test`, { json: { tool, ...more } })
      return [verdict, reason]
    }
    const url = 'https://other.example/'
    expect(await tried('http__get', { url })).toEqual(['ask', 'host_not_allowed'])
    await setPolicy({ network: { elsewhere: 'deny' } })
    expect(await tried('http__get', { url })).toEqual(['deny', 'host_not_allowed'])
    await setPolicy({ network: { hosts: ['*'] }, destructive: 'allow' })
    const label = { sources: [{ from: 'mail__read', confidentiality: 'public' }] }
    expect(await tried('http__get', { url, label })).toEqual(['ask', 'label'])
    expect(await tried('http__request', { url, label })).toEqual(['ask', 'label'])
    expect(await tried('kv__set', { label })).toEqual(['allow', 'allowed'])
    expect(await tried('kv__set', { label, sinks: ['write'] })).toEqual(['ask', 'label'])
  })

  it('C5: limits how often a principal calls a tool, over all of its runs', async () => {
    await setPolicy({ rates: [{ tools: 'kv__set', per: 'principal', calls_per_minute: 3 }] })
    calling('kv__set', set, 2)
    const answers = (await Promise.all([runOnce(), runOnce(), runOnce()])).join('\n').split('\n')
    expect(answers.filter((answer) => answer.includes('tool_rate_limited'))).toHaveLength(3)
  })

  it('I27: does not make a call that destroys where no person can be asked', async () => {
    await setPolicy({ allow_destructive: [] })
    calling('kv__delete', { key: 'a' })
    const json = { model: 'orchestrator', messages: [{ role: 'user', content: 'go' }] }
    const answer = await callJson('/v1/chat/completions', { json })
    expect(answer.choices[0].message.content).toContain('needs someone to decide')
  })

  it('says which patterns and agents name nothing that is here; they hold all the same', async () => {
    const { notes } = await setPolicy({
      deny: ['htp__*', 'kv__list', 'isola__call'],
      agents: { nobody: { deny: ['kv__sett'] } },
      rates: [{ tools: 'later__*', per: 'session', calls_per_minute: 1 }],
    })
    expect(notes.filter((note: string) => !/^[+-]/.test(note))).toEqual([
      'htp__* matches no tool that is here now.',
      'kv__sett matches no tool that is here now.',
      'later__* matches no tool that is here now.',
      'There is no agent nobody now.',
    ])
    expect((await callJson(path)).policy.deny).toContain('htp__*')
  })

  it('answers a wrong document with the field and what to do', async () => {
    const wrong = await call(path, { json: { policy: { deny: ['k*v'] } } })
    const { error } = (await wrong.json()) as Answer
    expect([wrong.status, error.param]).toEqual([400, 'policy.deny[0]'])
    expect(error.message).toContain('kv__*')
  })

  it('says what would become of a call, and calls nothing', async () => {
    await setPolicy({ agents: { helper: { allow: ['http__get'] } } })
    const ask = (json: object): Promise<Answer> => callJson(`${path}/test`, { json })
    expect(await ask({ tool: 'kv__set' })).toMatchObject({ verdict: 'allow', isDestructive: false })
    expect(await ask({ tool: 'kv__set', agent: 'helper' })).toMatchObject({
      verdict: 'deny',
      rule: 'agents.helper: allow',
    })
    await setPolicy({ allow_destructive: [] })
    expect(await ask({ tool: 'kv__delete' })).toMatchObject({ verdict: 'ask', isDestructive: true })
  })
})
