import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

const drafts = '/api/operator/skill-drafts'
let upstream: ReturnType<typeof installUpstream> | undefined
const setPolicy = (policy: object) => callJson('/api/operator/policy', { json: { policy } })
beforeEach(() => setPolicy({ emits_skills: true }))
afterEach(async () => {
  upstream?.restore()
  await setPolicy({})
})

const skill = {
  name: 'price-sheet',
  description: 'Makes a price sheet of a list of goods. Use when somebody asks for a price sheet.',
  instructions: `# Price sheet

1. Keep the list of goods with kv__set under the key goods.
2. Ask for the currency if the list does not say it, and never guess one.
3. Round each price up to the next five cents, and say so under the sheet.
4. Answer with a table: good, unit, price, and the date of the list.`,
}
const nearly = {
  ...skill,
  instructions: skill.instructions.replace('Round each price up', 'Round every price up'),
}

/** A model that makes these calls, one a turn, and then says what came of the last. */
function script(calls: readonly { name: string; input: object }[]) {
  upstream?.restore()
  upstream = installUpstream(({ messages }: UpstreamRequest) => {
    const answers = messages.filter(({ role }) => role === 'tool')
    const next = calls[answers.length]
    return next ? { calls: [next] } : { text: String(answers.at(-1)?.content) }
  })
}
async function run(calls: readonly { name: string; input: object }[]) {
  script(calls)
  const { id } = await callJson('/api/sessions', { json: {} })
  const { result } = await callJson(`/api/sessions/${id}/runs`, {
    json: { task: 'go', wait: true },
  })
  return { session: id as string, said: JSON.parse(result.result) as Answer }
}
const emit = (input: object) => ({ name: 'isola__emit_skill', input })
const noted = {
  name: 'isola__call',
  input: { name: 'kv__set', input: { key: 'goods', value: 'a' } },
}

describe('P9: a skill that an agent writes', () => {
  it('is kept as one draft, however often nearly the same is written, with where it came from', async () => {
    const first = await run([noted, emit(skill)])
    expect(first.said).toMatchObject({ kept: true })
    const second = await run([noted, emit(nearly)])
    expect(second.said.draft).toBe(first.said.draft)
    const { drafts: listed } = await callJson(drafts)
    expect(listed).toHaveLength(1)
    const shown = await callJson(`${drafts}/${first.said.draft}`)
    expect(shown).toMatchObject({
      name: 'price-sheet',
      state: 'open',
      count: 2,
      requires: ['tool:kv__set'],
      label: { integrity: 'tool' },
      writings: [
        { session: second.session, agent: 'orchestrator', principal: 'operator' },
        { session: first.session, tools: ['kv__set'], model: 'openai/scripted' },
      ],
    })
    expect(shown.files['SKILL.md']).toContain('every price')
  })
})
