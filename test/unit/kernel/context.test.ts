import { describe, expect, it } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { RunInput } from '#runtime/kernel/types/kernel.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelRequest } from '#contracts/model.ts'
import { toTurnSaid } from '#runtime/kernel/types/turn-said.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import {
  asksForSummary,
  createContextParts,
  prose,
  says as said,
  tokensOf,
  user,
} from '../../fakes/context.ts'
import {
  agentSpec,
  createEndingKernel,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
  says,
  toolEntry,
  toolsetOf,
  type Line,
} from '../../fakes/kernel.ts'
import { createRandom } from '../../fakes/random.ts'

const contextTokens = 16_000
/** What the default output cap leaves of it. */
const room = contextTokens - 4_096
const notes = 'NOTES: the user moves to Lisbon.'

/** A conversation of so many turns, about 600 tokens each. */
function talk(turns: number): Message[] {
  const random = createRandom(16)
  return Array.from({ length: turns }, (_, index) => [
    user(`Remember number ${index + 7_000}. ${prose(random, 300)}`),
    said(`Noted. ${prose(random, 300)}`),
  ]).flat()
}
const long = (turns = 30): Message[] => [...talk(turns), user('What was the first number?')]

const answersOf = (request: ModelRequest): Line =>
  asksForSummary(request) ? { text: notes } : { text: 'It was 7000.' }

interface Asked {
  readonly script?: (request: ModelRequest, index: number) => Line
  readonly window?: number | 'unknown'
  readonly turns?: readonly TurnRecord[]
  readonly input?: Partial<RunInput>
}

/** A run in a conversation that may be too long. */
async function run({ script = answersOf, window = contextTokens, turns = [], input }: Asked = {}) {
  const world = createContextParts(script, window === 'unknown' ? undefined : window)
  const journal = createMemoryJournal(turns)
  const headers: number[] = []
  const ports = runPorts({
    journal,
    headersOf: (_turn, request) => {
      headers.push(request)
      return {}
    },
  })
  const result = await createEndingKernel(createKernelParts(world.models, world.more)).run(
    runInput({ messages: long(), ...input }),
    ports,
  )
  const events = [...journal.rows.values()].flatMap((row) => row.events)
  const records = [...journal.rows.values()].flatMap(({ compactions = [] }) => compactions)
  const { requests } = world.models
  return { ...world, requests, result, journal, events, records, deltas: ports.deltas }
}

const kinds = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type)

describe('a run in a conversation that fits (P29)', () => {
  it('sends what was said as it is, and writes nothing more', async () => {
    const { requests, journal, records } = await run({ input: { messages: long(4) } })
    expect(requests.map(({ messages }) => messages.length)).toEqual([10])
    expect(journal.writes).toHaveLength(1)
    expect(journal.writes[0]).not.toHaveProperty('compactions')
    expect(records).toEqual([])
  })
})

describe('a run in a conversation that outgrew its model (P29)', () => {
  it('compacts it before the model call, and says so', async () => {
    const { result, requests, events, records, journal } = await run()
    expect(result).toMatchObject({ state: 'completed', result: 'It was 7000.' })
    expect(requests.map(asksForSummary)).toEqual([true, false])
    expect(tokensOf(requests[1]!)).toBeLessThanOrEqual(room / 2)
    expect(JSON.stringify(requests[1])).toContain(notes)
    expect(kinds(events)).toEqual([
      'model_called',
      'context_compacted',
      'model_called',
      'message_finished',
      'run_finished',
    ])
    expect(events[1]!.data).toMatchObject({
      turn: 1,
      reason: 'start',
      by: 'model',
      tokens: 110,
      tokensAfter: tokensOf(requests[1]!),
    })
    expect(records).toHaveLength(1)
    // On record before the model is asked, with what it cost, and once.
    expect(journal.writes.map(({ steps, usage }) => [steps.length, usage.modelCalls])).toEqual([
      [0, 1],
      [1, 2],
    ])
  })

  it('counts the summary as its own request, and streams none of it as an answer', async () => {
    const { result, events, deltas } = await run()
    expect(result.modelCalls).toHaveLength(2)
    expect(
      events.flatMap((event) => (event.type === 'model_called' ? [event.data.request] : [])),
    ).toEqual([1, 2])
    expect(deltas.map(({ text, offset }) => [text, offset])).toEqual([['It was 7000.', 0]])
  })

  it('goes by the record in the turns after it: the beginning stays the same to the byte', async () => {
    const script = (request: ModelRequest, index: number): Line =>
      asksForSummary(request)
        ? { text: notes }
        : index < 4
          ? { calls: [{ name: 'look' }] }
          : { text: 'done' }
    const toolset = toolsetOf([toolEntry('look', async () => says('seen'))])
    const { requests, records } = await run({ script, input: { toolset } })
    const [, first, ...rest] = requests
    expect(records).toHaveLength(1)
    for (const { messages } of rest)
      expect(messages.slice(0, first!.messages.length)).toEqual(first!.messages)
  })

  it('goes by the records of earlier runs', async () => {
    const first = await run()
    const messages = [...long(), said('It was 7000.'), user('And the second?')]
    const compactions = first.records
    const { requests, records } = await run({ input: { messages, compactions } })
    expect(records).toEqual([])
    expect(requests).toHaveLength(1)
    const sent = first.requests[1]!.messages
    expect(requests[0]!.messages.slice(0, sent.length)).toEqual(sent)
  })

  it('writes the summary by rule where the model does not answer, and goes on', async () => {
    const script = (request: ModelRequest): Line =>
      asksForSummary(request)
        ? { error: new IsolaError('model_empty_reply', 'Nothing.') }
        : { text: 'on' }
    const { result, events } = await run({ script })
    expect(result.state).toBe('completed')
    expect(events.find(({ type }) => type === 'context_compacted')?.data).toMatchObject({
      by: 'rule',
      refused: 'model_empty_reply',
    })
  })

  it('keeps what leaves where the output tool opens it', async () => {
    const { gateway, records } = await run()
    const { archives } = records[0]!
    expect(archives.length).toBeGreaterThan(0)
    for (const handle of archives.flatMap(({ handles }) => handles)) {
      expect(handle).toMatch(/^ses_1\.kept\.[0-9a-f]{22}$/)
      const kept = await gateway.at('ses_1').storage({ verb: 'get', space: 'outputs', key: handle })
      expect(kept.value).toContain('Remember number 7000')
    }
  })

  it('goes by the agent’s own settings', async () => {
    const agent = agentSpec({}, { context: { start: 0.5, target: 0.2 } })
    const { requests, records } = await run({ input: { agent, messages: long(12) } })
    expect(records).toHaveLength(1)
    expect(tokensOf(requests.at(-1)!)).toBeLessThanOrEqual(room * 0.2)
  })

  it('refuses a message that alone is too large, and names the limit', async () => {
    const messages = [user(prose(createRandom(1), 20_000))]
    const { result, requests } = await run({ input: { messages } })
    expect(result).toMatchObject({ state: 'failed', error: { code: 'request_too_large' } })
    expect(result.error?.message).toMatch(/takes at most 11\d\d\d in one message/)
    expect(requests).toEqual([])
  })
})

describe('a lease that is smaller than the window', () => {
  it('R2: an agent of 50,000 tokens goes on in a session with a long transcript', async () => {
    const agent = agentSpec({ maxTokens: 50_000 })
    const input = { agent, messages: long(80) }
    const { result, events, requests } = await run({ window: 200_000, input })
    expect(result).toMatchObject({ state: 'completed' })
    expect(requests.map(asksForSummary)).toEqual([false])
    expect(events[0]).toMatchObject({
      type: 'context_compacted',
      data: { reason: 'budget', by: 'rule', tokens: 0 },
    })
  })
})

describe('a model service that says that the context is too long', () => {
  const limited =
    (most: number) =>
    (request: ModelRequest): Line =>
      tokensOf(request) > most
        ? { error: new IsolaError('model_context_exceeded', 'Too long.') }
        : answersOf(request)

  it('is asked once more after a compaction, and the refusal costs nothing', async () => {
    const { result, events } = await run({ script: limited(12_000), window: 'unknown' })
    expect(result).toMatchObject({ state: 'completed', result: 'It was 7000.' })
    expect(kinds(events).slice(0, 4)).toEqual([
      'model_failed',
      'model_called',
      'context_compacted',
      'model_called',
    ])
    expect(events[0]!.data).toMatchObject({ code: 'model_context_exceeded', bookedTokens: 0 })
    expect(events[2]!.data).toMatchObject({ reason: 'context_error' })
  })

  it('is not asked a third time', async () => {
    const { result, requests } = await run({ script: limited(10), window: 'unknown' })
    expect(result.error?.code).toBe('model_context_exceeded')
    const lengths = requests.filter((request) => !asksForSummary(request)).map(tokensOf)
    expect(lengths).toHaveLength(2)
    expect(lengths[1]).toBeLessThan(lengths[0]! * 0.6)
  })

  it('has the last word where nothing can leave', async () => {
    const input = { messages: [user('hi')] }
    const { result, requests, records } = await run({ script: limited(1), input })
    expect(result.error?.code).toBe('model_context_exceeded')
    expect(requests).toHaveLength(1)
    expect(records).toEqual([])
  })
})

describe('a run that is taken up again after its context was decided on', () => {
  /** The row as it was when the model was to be asked. */
  const cut = async () => (await run()).journal.writes[0]!

  it('I12: asks the model what it would have asked, without another summary', async () => {
    const whole = await run()
    const row = whole.journal.writes[0]!
    const again = await run({ turns: [row], input: { lostCalls: 1 } })
    expect(again.requests.map(asksForSummary)).toEqual([false])
    expect(again.requests[0]).toEqual(whole.requests[1])
    expect(again.records).toEqual(whole.records)
    expect(again.result).toMatchObject({ state: 'completed', result: 'It was 7000.' })
  })

  it('I12: pays for the request that a crash may have cut, and for the summary once', async () => {
    const row = await cut()
    const { events, result, journal } = await run({ turns: [row], input: { lostCalls: 1 } })
    const lost = events.flatMap((event) =>
      event.type === 'model_failed' && event.data.code === 'lost' ? [event.data] : [],
    )
    expect(lost).toMatchObject([{ request: 2 }])
    expect(result.usage.tokens).toBe(110 + lost[0]!.bookedTokens + 110)
    expect(result.usage.turns).toBe(1)
    // The next crash is told from this one.
    const asked = { turns: [...journal.rows.values()].map(stillOpen), input: { lostCalls: 2 } }
    const again = await run(asked)
    expect(again.events.filter(({ type }) => type === 'model_failed')).toHaveLength(2)
  })

  it('holds its turn: the last one that it may have is not taken twice', async () => {
    const row = await cut()
    const input = { agent: agentSpec({ maxTurns: 1 }) }
    expect((await run({ turns: [row], input })).result.state).toBe('completed')
  })

  const stillOpen = ({ final: _final, ...row }: TurnRecord): TurnRecord => ({
    ...row,
    steps: [],
    isDone: false,
  })
})

describe('a crash in a compaction', () => {
  /** Stops for good at the n-th moment at which something is waited for. */
  function createCrash(at: number) {
    const { promise, resolve } = Promise.withResolvers<'crashed'>()
    let count = 0
    const wait = async () => {
      count += 1
      if (count !== at) return
      resolve('crashed')
      await new Promise<never>(() => {})
    }
    return { wait, promise }
  }

  async function live(at: number) {
    const journal = createMemoryJournal()
    const world = createContextParts((request) => answersOf(request), contextTokens)
    const sent: ModelRequest[] = []
    let lostCalls = 0
    for (const crash of [createCrash(at), createCrash(0)]) {
      const { models, more } = world
      const { outputs } = more.gates
      const keep: typeof outputs.keep = async (of, json) => {
        await crash.wait()
        const answer = await outputs.keep(of, json)
        await crash.wait()
        return answer
      }
      const generate: typeof models.generate = async (request, options) => {
        await crash.wait()
        const reply = await models.generate(request, options)
        await crash.wait()
        if (!asksForSummary(request)) sent.push(request)
        return reply
      }
      const parts = createKernelParts(models, {
        ...more,
        models: { ...models, generate },
        context: world.fitter(keep),
      })
      const ended = createKernel(parts).run(
        runInput({ messages: long(), lostCalls }),
        runPorts({ journal }),
      )
      const outcome = await Promise.race([ended, crash.promise])
      if (outcome !== 'crashed') return { outcome, journal, sent, crashed: lostCalls > 0 }
      lostCalls += 1
    }
    throw new Error('it did not end')
  }

  it('I12: at every await leaves the transcript, the record and what the model is sent as without one', async () => {
    const whole = await live(0)
    const told = ({ journal }: typeof whole) => {
      const rows = [...journal.rows.values()]
      // What it cost is more where an attempt was lost.
      const records = rows.flatMap(({ compactions = [] }) =>
        compactions.map(({ report: { tokens: _t, costNanoUsd: _c, ...report }, ...rest }) => ({
          ...rest,
          report,
        })),
      )
      return { said: rows.flatMap((row) => toTurnSaid(row).messages), records }
    }
    let crashes = 0
    for (let at = 1; ; at += 1) {
      const again = await live(at)
      if (!again.crashed) break
      crashes += 1
      expect(again.outcome).toMatchObject({ state: 'completed', result: 'It was 7000.' })
      expect(told(again)).toEqual(told(whole))
      expect(again.sent.at(-1)).toEqual(whole.sent.at(-1))
      const { usage } = again.outcome as AgentResult
      expect(usage.tokens).toBeGreaterThanOrEqual((whole.outcome as AgentResult).usage.tokens)
    }
    // Each archive before and after it is kept, the summary and the answer before and after they are there.
    expect(crashes).toBeGreaterThanOrEqual(6)
  })
})
