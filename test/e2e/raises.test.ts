import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Answer } from '../fakes/client.ts'
import { startModelServer, type ChatRequestBody, type Reply } from '../fakes/model-server.mjs'
import { isNightly } from '../setup/nightly.ts'
import { freePort, reach, startServer, type RunningServer } from './server.ts'

/** Three turns, each with one call and a text, then an answer; `slow` never gets its second reply. */
let isSlow = true
const threeFacts = ({ messages }: ChatRequestBody): Reply => {
  const said = JSON.stringify(messages)
  const count = messages.filter(({ role }) => role === 'tool').length
  if (count === 3) return { text: 'all set' }
  const reply = {
    text: `fact ${count}`,
    toolCalls: [{ name: 'kv__set', arguments: { key: `k${count}`, value: count } }],
  }
  return isSlow && count === 1 && said.includes('slow') ? { ...reply, delayMs: 60_000 } : reply
}

/** A tool that needs leave, then one of a plugin that is updated meanwhile, until it is another one that answers. */
const thenSays = ({ messages }: ChatRequestBody): Reply => {
  const say = { name: 'pinner__say', arguments: {} }
  const calls = [{ name: 'kv__set', arguments: { key: 'a', value: 1 } }, say, say]
  const next = calls[messages.filter(({ role }) => role === 'tool').length]
  return next ? { toolCalls: [next] } : { text: 'done' }
}

const eventually = <T>(look: () => Promise<T>): Promise<T> =>
  vi.waitFor(look, { timeout: 240_000, interval: 100 })

interface Place {
  readonly session: string
  readonly run: string
}

describe('a server that is killed while runs wait', { timeout: 900_000 }, () => {
  const state = mkdtempSync(join(tmpdir(), 'isola-raises-'))
  let model: Awaited<ReturnType<typeof startModelServer>>
  let server: RunningServer
  let port = 0

  const start = async () => {
    server = await startServer({
      state,
      port,
      env: {
        OPENAI_BASE_URL: model.url,
        OPENAI_API_KEY: 'sk-loopback',
        ISOLA_MODEL: 'openai/scripted',
        ISOLA_PRICES: JSON.stringify({
          'openai/scripted': { input_usd_per_million: 1, output_usd_per_million: 2 },
        }),
      },
    })
  }
  beforeAll(async () => {
    model = await startModelServer({
      script: ({ body }) =>
        JSON.stringify(body.messages[0]?.content).includes('You are version')
          ? thenSays(body)
          : threeFacts(body),
    })
    port = await freePort()
    await start()
  }, 300_000)
  afterAll(async () => {
    await server?.stop()
    await model?.close()
    rmSync(state, { recursive: true, force: true })
  })

  const api = async (path: string, json?: unknown) => {
    const response = await reach(`${server.url}${path}`, {
      method: json === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Answer
  }
  const begin = async (limits: object, task = 'go'): Promise<Place> => {
    const { id: session } = await api('/api/sessions', {})
    const { run } = await api(`/api/sessions/${session}/runs`, { task, limits })
    return { session, run }
  }
  const pathOf = ({ session, run }: Place) => `/api/sessions/${session}/runs/${run}`
  const reached = (place: Place, expected: string): Promise<Answer> =>
    eventually(async () => {
      const view = await api(pathOf(place))
      expect(view.state).toBe(expected)
      return view
    })
  /** A limit that is enough for a first turn, and not for all: what the first one needs, and a little. */
  const enoughForOne = async (limit: string, least: number, perUnit = 1): Promise<object> => {
    const { pauses } = await reached(await begin({ [limit]: least }), 'parked')
    const { needed, spent } = pauses[0].reached
    // What it had spent is what waiting cost.
    return { [limit]: ((needed - spent) / perUnit) * 1.05 }
  }
  const whole = (limits: object) =>
    Object.fromEntries(
      Object.entries(limits).map(([name, amount]) =>
        name.endsWith('Usd') ? [name, amount] : [name, Math.floor(Number(amount))],
      ),
    )

  /** The work of a run, without times and without the number of interruptions. */
  async function journalOf(place: Place) {
    const { result } = await api(pathOf(place))
    const { messages } = await api(`/api/sessions/${place.session}/transcript`)
    const { tokens, costNanoUsd, turns, toolCalls, modelCalls } = result.usage
    const text = JSON.stringify(messages)
      .replaceAll(place.run, 'RUN')
      .replaceAll(place.session, 'SESSION')
    return {
      state: result.state,
      result: result.result,
      steps: result.steps,
      usage: { tokens, costNanoUsd, turns, toolCalls, modelCalls },
      actions: result.actions.map((action: Answer) => ({ ...action, durationMs: 0 })),
      messages: JSON.parse(text) as unknown,
    }
  }

  it('E1, I15: a run parked on each kind of limit, raised after the server was killed, ends as if it had had that limit from the start', async () => {
    const high = {
      maxTurns: 20,
      maxToolCalls: 20,
      maxTokens: 900_000,
      maxCostUsd: 5,
      maxPlatformUsd: 1,
      maxTimeMs: 600_000,
    }
    const low = [
      { maxTurns: 2 },
      { maxToolCalls: 1 },
      whole(await enoughForOne('maxTokens', 1)),
      await enoughForOne('maxCostUsd', 1e-9, 1e9),
      await enoughForOne('maxPlatformUsd', 1e-9, 1e9),
    ]
    const codes = [
      'lease_turns',
      'lease_tool_calls',
      'lease_tokens',
      'lease_cost',
      'lease_platform',
    ]
    const places = await Promise.all(low.map((limits) => begin(limits)))
    const slow = await begin({ maxTimeMs: 2_000 }, 'go slow')
    const parked = await Promise.all([...places, slow].map((place) => reached(place, 'parked')))
    expect(parked.map(({ pauses }) => pauses[0].reached.code)).toEqual([...codes, 'lease_time'])
    // Each has begun: what follows goes on from somewhere.
    for (const { pauses } of parked) expect(pauses[0].reached.spent).toBeGreaterThan(0)
    await server.kill()
    isSlow = false
    await start()
    expect(await Promise.all([...places, slow].map((place) => api(pathOf(place))))).toEqual(parked)
    const ends = [...places, slow].map(async (place, index) => {
      const [limit] = Object.keys(low[index] ?? { maxTimeMs: 0 }) as [keyof typeof high]
      await api(`${pathOf(place)}/limits`, { [limit]: high[limit] })
      await reached(place, 'completed')
      return journalOf(place)
    })
    const direct = await begin(high)
    await reached(direct, 'completed')
    const expected = await journalOf(direct)
    const journals = await Promise.all(ends)
    for (const journal of journals.slice(0, -1)) expect(journal).toEqual(expected)
    // The request that the time cut may have been billed, and stays booked.
    const { usage, messages, ...cut } = journals.at(-1)!
    expect(JSON.stringify(messages).replace('go slow', 'go')).toEqual(
      JSON.stringify(expected.messages),
    )
    expect(cut).toEqual({ ...cut, state: 'completed', result: expected.result })
    expect(usage).toMatchObject({ turns: 4, toolCalls: 3, modelCalls: 5 })
  })

  it('I19: a run parked over a kill and an update of plugin, prompt and model goes on as it began, and the changed tool is refused', async () => {
    const enable = async (version: string) => {
      const bundle = {
        manifest: {
          id: 'pinner',
          name: 'Pinner',
          version,
          entrypoint: 'main.ts',
          description: 'Says which version it is.',
          contributes: { tools: [{ name: 'say', description: 'Says which version this is.' }] },
          agent: {
            integration_mode: 'tool',
            model: `openai/model-${version}`,
            instructions: 'p.md',
            uses_tools: ['kv', 'pinner'],
          },
        },
        code: `export default () => ({ tools: { async say() { return 'said by ${version}' } } })`,
        files: { 'p.md': `You are version ${version}.` },
      }
      await api('/api/operator/plugins', { bundle, now: true })
      const { hash, asks } = await api('/api/operator/plugins/pinner')
      await api('/api/operator/plugins/pinner/grant', { hash, permit: asks, texts: true })
      await api('/api/operator/plugins/pinner/enable', {})
    }
    await enable('1.0.0')
    const { id: session } = await api('/api/sessions', { agent: 'pinner' })
    const asked = { task: 'go', wait: true, requireApproval: ['kv__set'] }
    const parked = await api(`/api/sessions/${session}/runs`, asked)
    expect(parked.state).toBe('parked')
    const place = { session, run: parked.id }
    await server.kill()
    await start()
    await enable('2.0.0')
    // The process that answers need not be the one that updated.
    if (isNightly) {
      await server.kill()
      await start()
    }
    const before = model.requests.length
    const [{ call }] = parked.pauses
    await api(`${pathOf(place)}/decisions`, { call, decision: 'approve' })
    const { result } = await reached(place, 'completed')
    expect(result.actions.map(({ tool, ok, code }: Answer) => [tool, ok || code])).toEqual([
      ['kv__set', true],
      ['pinner__say', 'tool_changed'],
      ['pinner__say', true],
    ])
    const later = model.requests.slice(before).map(({ body }) => body)
    expect(later.map((body) => body.model)).toEqual(Array(3).fill('model-1.0.0'))
    for (const { messages } of later)
      expect(JSON.stringify(messages[0]?.content)).toContain('You are version 1.0.0.')
    expect(JSON.stringify(later.at(-1)!.messages.at(-1))).toContain('said by 2.0.0')
  })
})
