import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Answer } from '../fakes/client.ts'
import type { Conversation } from '../fakes/examples/conversation.ts'
import { exampleScript } from '../fakes/examples/models.ts'
import { incidentTriage } from '../fakes/examples/work.ts'
import { startExamples } from './examples-world.ts'

/** Agents that others call come first. */
const folders = [
  'chat-agent',
  'retrieval-qa',
  'data-cleanup',
  'briefing-facts',
  'briefing-draft',
  'briefing-check',
  'workflow-orchestrator',
  'incident-triage',
  'incident-drill',
  'support-billing',
  'support-technical',
  'support-copilot',
  'release-notes',
  'bug-search',
  'bug-reproduce',
  'bug-reporter',
]
let world: Awaited<ReturnType<typeof startExamples>>
beforeAll(async () => {
  world = await startExamples()
  await world.done(['http', 'allow', world.sites.host])
  await world.done(['plugin', 'enable', 'code'])
  await world.done(['knowledge', 'add', 'examples/knowledge', '--scope', 'deployment'])
  for (const folder of folders) await world.done(['agent', 'add', `examples/agents/${folder}`])
})
afterAll(() => world?.stop())

const run = (agent: string, task: string) => world.done(['agent', 'run', agent, task])
const newSession = async (agent: string): Promise<string> =>
  (await world.api('/api/sessions', { agent })).id
const say = (session: string, task: string, more: object = {}): Promise<Answer> =>
  world.api(`/api/sessions/${session}/runs`, { task, wait: true, ...more })
/** The calls of a session, as its transcript has them. */
async function callsOf(session: string): Promise<{ name: string; input: Answer }[]> {
  const { messages } = await world.api(`/api/sessions/${session}/transcript`)
  return messages.flatMap(({ toolCalls = [] }: Answer) => toolCalls)
}
const once = (folder: string, task: string, ...options: string[]) =>
  world.done(['agent', 'once', `examples/agents/${folder}`, task, ...options])
const isKnown = async (session: string): Promise<boolean> =>
  (await world.isola(['session', 'show', session])).code === 0

describe('I23: agents on demand', () => {
  it('I10: chat-agent answers once and is gone, or goes on in a conversation, without a tool', async () => {
    const { session, result } = JSON.parse(await once('chat-agent', 'My name is Ada.', '--json'))
    expect(result).toBe('Hello Ada.')
    expect(world.model.requests.at(-1)!.body.tools ?? []).toEqual([])
    expect(await isKnown(session)).toBe(false)
    const lines = 'My name is Ada.\nWhat is my name?\n'
    const said = await world.isola(['chat', '--agent', 'chat-agent'], lines)
    expect(said).toMatchObject({ code: 0 })
    expect(said.stdout).toContain('It is Ada.')
    expect(await run('chat-agent', 'What is my name?')).toContain('It is unknown to me.')
  })

  it('retrieval-qa answers with the passage and where it stands, or says that there is none', async () => {
    const answer = await once('retrieval-qa', 'How many days of holiday are there?')
    expect(answer).toContain('28 days of holiday a year')
    expect(answer).toMatch(/\[.*handbook\.md.*Holidays.*\]/)
    expect(await once('retrieval-qa', 'Zeppelin')).toContain('The documents do not say.')
  })

  it('runs agents without outside effects for any caller, and other agents for an operator only', async () => {
    const key = (await world.done(['key', 'add', 'anna', '--role', 'user'])).trim()
    const asAnna = (folder: string, task: string) =>
      world.isola(['agent', 'once', `examples/agents/${folder}`, task], '', key)
    expect(await asAnna('chat-agent', 'My name is Anna.')).toMatchObject({ code: 0 })
    expect(await asAnna('data-cleanup', 'name,email\n A ,A@example.com')).toMatchObject({
      code: 0,
      stdout: '1 rows are clean.\n',
    })
    const answer = await asAnna('retrieval-qa', 'How many days of holiday are there?')
    expect(answer.stdout, answer.stderr).toContain('28 days of holiday a year')
    const refused = await asAnna('bug-search', 'Anything')
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('http__get')
  })

  const rows = Array.from({ length: 60 }, (_, at) => ` Row  ${at + 1} ,R${at + 1}@Example.COM`)
  const task = `Clean these.\nname,email\n${rows.join('\n')}`
  const batches = ['cleaned/1-25.csv', 'cleaned/26-50.csv', 'cleaned/51-60.csv']
  const written = async (session: string) =>
    (await callsOf(session)).filter(({ name }) => name === 'files__write').map(({ input }) => input)
  /** Each row once, clean, over all batches that were written. */
  const expectOnce = async (session: string) => {
    const files = await written(session)
    expect(files.map(({ path }) => path)).toEqual(batches)
    expect(files.flatMap(({ text }) => text.split('\n').slice(1))).toEqual(
      rows.map((_, at) => `Row ${at + 1},r${at + 1}@example.com`),
    )
  }

  it('I10: data-cleanup works on after a power cut in the middle, and does no row twice', async () => {
    const { promise: never } = Promise.withResolvers<never>()
    let isHeld = false
    world.model.script(
      exampleScript(({ done }) => {
        // The second batch is written, and its checkpoint is not.
        isHeld ||= done.filter(({ name }) => name === 'files__write').length === 2
        return isHeld ? () => never : undefined
      }),
    )
    // Begun and left: all that is kept are two ids.
    const options = ['--background', '--json']
    const { session, run: id } = JSON.parse(await once('data-cleanup', task, ...options))
    await vi.waitFor(() => expect(isHeld).toBe(true))
    world.model.script(exampleScript())
    await world.cut()
    const view = await vi.waitFor(async () => {
      const shown = await world.api(`/api/sessions/${session}/runs/${id}`)
      expect(shown.state).toBe('completed')
      return shown
    })
    expect(view.result.result).toBe('60 rows are clean.')
    await expectOnce(session)
  })

  it('data-cleanup that was stopped by its limit goes on from its checkpoint when it is told to', async () => {
    const session = await newSession('data-cleanup')
    const first = await say(session, task, { limits: { maxTurns: 5 } })
    expect(first).toMatchObject({ state: 'parked', pauses: [{ kind: 'budget' }] })
    await world.done(['approval', 'deny', session, first.pauses[0].call])
    expect(await written(session)).toHaveLength(2)
    const second = await say(session, 'Go on.')
    expect(second.result.result).toBe('60 rows are clean.')
    await expectOnce(session)
  })
})

describe('I23: persistent agents', () => {
  const steps = ['briefing-facts__run', 'briefing-draft__run', 'briefing-check__run']

  it('I10: workflow-orchestrator has each step done by an agent that runs for it, in their order', async () => {
    const session = await newSession('workflow-orchestrator')
    const { result } = await say(session, 'Working from another country')
    expect(result.result).toContain('at most 20 days a year')
    expect(result.result).toContain('facts: done, draft: done, check: done')
    expect((await callsOf(session)).map(({ name }) => name)).toEqual(steps)
    const { children } = await world.api(`/api/sessions/${session}`)
    expect(children.map(({ runs }: Answer) => runs.map(({ state }: Answer) => state))).toEqual(
      steps.map(() => ['completed']),
    )
  })

  it('workflow-orchestrator hands over the draft when its check fails, and says that the draft is unchecked', async () => {
    const isCheck = ({ agent }: Conversation) => agent === 'Briefing, step 3: check'
    world.model.script(exampleScript((one) => (isCheck(one) ? () => ({ status: 400 }) : undefined)))
    const { result } = await say(await newSession('workflow-orchestrator'), 'Holidays')
    world.model.script(exampleScript())
    expect(result).toMatchObject({ state: 'completed' })
    expect(result.result).toMatch(/^Nobody checked this\.[^]*28 days[^]*check: failed$/)
  })

  it('incident-triage says how bad it is, with the runbook, and the record has each step as the session has it', async () => {
    const session = await newSession('incident-triage')
    const alert = 'Checkout answers 500 to every customer since 08:12.'
    const { result } = await say(session, alert)
    const said = JSON.parse(result.result)
    expect(said).toMatchObject({ severity: 'sev1' })
    expect(said.runbook).toMatch(/runbooks\.md.*Checkout answers 500/)
    const lines = async (args: readonly string[]): Promise<Answer[]> =>
      (await world.done(args))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    const recorded = () => lines(['audit', 'list', '--session', session, '--json'])
    const records = await vi.waitFor(async () => {
      const found = await recorded()
      expect(found.map(({ type }) => type)).toContain('run_finished')
      return found
    })
    // Each step that the session tells of is on the record as it was, numbered without a gap.
    const told = (await lines(['session', 'export', session])).filter(
      ({ kind }) => kind === 'event',
    )
    expect(records.map(({ seq }) => seq).sort((one, other) => one - other)).toEqual(
      told.map((_, at) => at + 1),
    )
    for (const { value } of told) {
      const record = records.find(({ seq }) => seq === value.seq)
      const { type, run: ofRun, trace, atMs } = value
      expect(record).toMatchObject({ type, run: ofRun, trace, atMs })
      // Words are the session's alone; the record has the hash of what a tool was given.
      const shared = Object.entries<Answer>(value.data).filter(([name]) => name in record.data)
      expect(record.data).toMatchObject(Object.fromEntries(shared))
    }
    // No route changes a record or takes it away, and it outlives its session.
    await world.done(['session', 'delete', session, '--yes'])
    expect(await recorded()).toEqual(expect.arrayContaining(records))
  })

  it('incident-drill stands by on a schedule, and its notice says whether triage still answers as it should', async () => {
    const { schedules } = await world.json(['schedule', 'list'])
    const drill = schedules.find((one: Answer) => one.name === 'incident-drill')
    /** Fires it, and what it told when it was over. */
    const fire = async (): Promise<string> => {
      await world.done(['schedule', 'run', drill.id])
      const slot = await vi.waitFor(async () => {
        const { slots } = await world.api(`/api/schedules/${drill.id}/history`)
        expect(slots[0].endedAtMs).toBeDefined()
        return slots[0]
      })
      expect(slot.reason ?? slot.state).toBe('done')
      return vi.waitFor(async () => {
        const { notices } = await world.api('/api/notices')
        const [text] = notices.flatMap((one: Answer) =>
          one.session === slot.session ? one.text : [],
        )
        expect(text).toBeDefined()
        return text
      })
    }
    expect(await fire()).toContain('Drill passed.')
    // A model that does what the alert tells it to.
    const isTriage = ({ agent }: Conversation) => agent === 'Incident triage'
    world.model.script(exampleScript((one) => (isTriage(one) ? incidentTriage(true) : undefined)))
    expect(await fire()).toContain('Drill FAILED: 3')
    world.model.script(exampleScript())
  })

  it('support-copilot hands the conversation to billing, to a technician, and has it back each time', async () => {
    const session = await newSession('support-copilot')
    const answer = async (task: string): Promise<string> => (await say(session, task)).result.result
    expect(await answer('When are you open?')).toMatch(/^Support:/)
    expect(await answer('My invoice was paid twice.')).toMatch(/^Billing: .*refunded in full/)
    expect((await world.api(`/api/sessions/${session}`)).floor).toMatchObject({
      holder: 'support-billing__run',
      state: 'held',
    })
    expect(await answer('It is R-17.')).toContain('R-17 was paid twice')
    expect(await answer('Now I cannot sign in.')).toMatch(/^Technician: .*new link/)
    expect(await answer('It works now.')).toContain('Signs in again')
    expect(await answer('Thank you.')).toBe('Support: Thank you.')
    const last = JSON.stringify(world.model.requests.at(-1)!.body.messages)
    expect(last).toContain('R-17 was paid twice')
    expect(last).toContain('Signs in again')
    const { messages } = await world.api(`/api/sessions/${session}/transcript`)
    expect(messages.flatMap(({ by = [] }: Answer) => by)).toEqual(
      expect.arrayContaining(['support-billing__run', 'support-technical__run']),
    )
  })
})

describe('I24: flows', () => {
  it('release-notes fetches, stores and sums up, and tells next time only what is new since', async () => {
    const task = `What is new at ${world.sites.url}/releases?`
    const session = await newSession('release-notes')
    const { result } = await say(session, task)
    expect(result.result).toBe(
      world.sites.releases.map(({ tag_name, body }) => `${tag_name}: ${body}`).join('\n'),
    )
    const stored = (await callsOf(session)).filter(({ name }) => name === 'files__write')
    expect(stored.map(({ input }) => [input.path, input.text])).toEqual(
      world.sites.releases.map(({ tag_name, body }) => [`releases/${tag_name}.md`, body]),
    )
    world.sites.releases.unshift({ tag_name: 'v1.2.0', body: 'Faster.' })
    expect(await run('release-notes', task)).toBe('v1.2.0: Faster.\n')
    expect(await run('release-notes', task)).toBe('Nothing new.\n')
    const { schedules } = await world.json(['schedule', 'list'])
    expect(schedules.map(({ name }: Answer) => name)).toContain('release-notes')
  })

  it('bug-reporter searches, reproduces in the sandbox, and opens an issue once a person approved exactly that', async () => {
    const { issues, url } = world.sites
    const bug = `parseSize("1.5 KiB") is 1024 in acme/parse; the API is ${url}.`
    const waiting = async () => {
      const session = await newSession('bug-reporter')
      const view = await say(session, bug)
      expect(view).toMatchObject({ state: 'parked', pauses: [{ tool: 'http__request' }] })
      expect(JSON.parse(view.pauses[0].input.body).body).toContain(
        '{"expected":1536,"actual":1024}',
      )
      return { session, run: view.id, call: view.pauses[0].call, hash: view.pauses[0].argsHash }
    }
    const ended = ({ session, run: id }: { session: string; run: string }) =>
      vi.waitFor(async () => {
        const view = await world.api(`/api/sessions/${session}/runs/${id}`)
        expect(view.state).toBe('completed')
        return view.result.result as string
      })
    const denied = await waiting()
    await world.done(['approval', 'deny', denied.session, denied.call, '--message', 'Not yet.'])
    expect(await ended(denied)).toContain('Not yet.')
    expect(issues).toEqual([])
    const allowed = await waiting()
    await world.done(['approval', 'approve', allowed.session, allowed.call, '--hash', allowed.hash])
    expect(await ended(allowed)).toContain('/acme/parse/issues/1')
    expect(issues).toMatchObject([{ title: 'parseSize loses the fraction' }])
    expect(issues[0]!.body).toContain('Reproduced.')
    // The next one finds it, and opens none.
    expect(await run('bug-reporter', bug)).toMatch(/^Known: .*\/acme\/parse\/issues\/1 parseSize/)
    expect(issues).toHaveLength(1)
  })
})
