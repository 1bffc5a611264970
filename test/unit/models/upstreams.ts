import type { ModelConfig } from '../../../src/platform/models/types.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { Limits } from '#contracts/lease.ts'
import type { ModelParameters } from '#contracts/model.ts'
import type { ScoreModel } from '../../../src/platform/models/types.ts'
import type { Message } from '#contracts/message.ts'
import type { Clock } from '#contracts/sources.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { createKernel } from '../../../src/runtime/kernel/run.ts'
import {
  createModelProviders,
  type ModelProviders,
} from '../../../src/platform/models/model-providers.ts'
import type { WorkersAi } from '../../../src/platform/models/workers-ai/binding-fetch.ts'
import {
  agentSpec,
  createFakeSources,
  createKernelParts,
  createMemoryJournal,
  runInput,
  runPorts,
} from '../../fakes/kernel.ts'
import { dataOf } from '../../fakes/events.ts'
import { outboundOver } from '../../fakes/outbound.ts'

/** One answer of a model server: text, a status that refuses, or a stream that breaks off after its first words. */
export type Answer =
  | { readonly text: string }
  | { readonly status: number; readonly retryAfter?: string; readonly code?: string }
  | { readonly cutAfter: string }
  | {
      readonly content: string | null
      readonly refusal?: string
      /** Default `stop`. */
      readonly finish?: string
    }
  | 'unreachable'

/** Model servers by their host, each with a script; the last answer is repeated. */
export type Servers = Readonly<Record<string, readonly Answer[]>>

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const usage = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } })}\n\n`

export const streamed = (text: string): Response =>
  new Response(`${chunk({ content: text })}${chunk({}, 'stop')}${usage}data: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  })

/** A reply with exactly this in its message, streamed or in one piece. */
function bare({ content, refusal, finish = 'stop' }: Bare, isStreamed: boolean): Response {
  const message = { role: 'assistant', content, ...(refusal !== undefined && { refusal }) }
  if (!isStreamed)
    return Response.json({ model: 'm', choices: [{ index: 0, message, finish_reason: finish }] })
  return new Response(`${chunk(message)}${chunk({}, finish)}data: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  })
}
type Bare = Extract<Answer, { readonly content: unknown }>

function toResponse(answer: Answer, isStreamed: boolean): Response {
  if (answer === 'unreachable') throw new TypeError('fetch failed')
  if ('text' in answer) return streamed(answer.text)
  if ('content' in answer) return bare(answer, isStreamed)
  if ('cutAfter' in answer) {
    return new Response(chunk({ content: answer.cutAfter }), {
      headers: { 'content-type': 'text/event-stream' },
    })
  }
  const { status, retryAfter, code } = answer
  return Response.json(
    { error: { message: 'no', code } },
    { status, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } },
  )
}

/** Waits between tries pass at once and move the clock; limits never end. */
export function createHastyClock(): Clock & {
  readonly waits: number[]
  advance: (ms: number) => void
} {
  let now = 1_000_000
  const waits: number[] = []
  return {
    waits,
    nowMs: () => now,
    advance: (ms) => void (now += ms),
    async sleep(ms, signal) {
      const isWait = [500, 1_000, 20_000].includes(ms)
      if (!isWait)
        return new Promise((resolve) => signal?.addEventListener('abort', () => resolve()))
      waits.push(ms)
      now += ms
    },
  }
}

export interface World {
  readonly models: ModelProviders
  readonly clock: ReturnType<typeof createHastyClock>
  /** `<host> <model>` of each request, oldest first. */
  readonly asked: string[]
  readonly bodies: Record<string, unknown>[]
}

export function createWorld(
  servers: Servers,
  config: Partial<ModelConfig>,
  more: { readonly score?: ScoreModel; readonly ai?: WorkersAi; readonly onAsk?: () => void } = {},
): World {
  const clock = createHastyClock()
  const asked: string[] = []
  const bodies: Record<string, unknown>[] = []
  const counts = new Map<string, number>()
  const models = createModelProviders(
    {
      isDevelopment: false,
      servers: Object.keys(servers).map((id) => ({ id, baseUrl: `http://${id}/v1`, models: [] })),
      ...config,
    },
    {
      buildIndex: createSearchIndex,
      sleep: clock.sleep,
      nowMs: clock.nowMs,
      ...outboundOver(async (url, init) => {
        const { host } = new URL(url)
        const body = JSON.parse(String(init.body)) as Record<string, unknown>
        asked.push(`${host} ${String(body.model)}`)
        bodies.push(body)
        more.onAsk?.()
        const script = servers[host] ?? []
        const count = counts.get(host) ?? 0
        counts.set(host, count + 1)
        const isStreamed = body['stream'] === true
        return toResponse(script[count] ?? script.at(-1) ?? 'unreachable', isStreamed)
      }, clock),
      ...more,
    },
  )
  return { models, clock, asked, bodies }
}

/** One run of an agent on these models, with what came on the record of it. */
export async function runOn(
  { models, clock }: World,
  options: {
    readonly model?: string
    readonly parameters?: ModelParameters
    readonly limits?: Partial<Limits>
    readonly messages?: readonly Message[]
    readonly signal?: AbortSignal
    readonly isUnwatched?: boolean
  } = {},
) {
  const { model, parameters = {}, limits, messages, signal, isUnwatched = false } = options
  const journal = createMemoryJournal()
  const ports = runPorts({
    journal,
    isWatched: () => !isUnwatched,
    ...(signal && { signal }),
  })
  const sources = createFakeSources(clock)
  const result = await createKernel(createKernelParts(models.provider, sources)).run(
    runInput({
      agent: agentSpec(limits, { model, parameters }),
      startedAtMs: clock.nowMs(),
      ...(messages && { messages }),
    }),
    ports,
  )
  if (result.state === 'parked') throw new Error('nothing here parks')
  const events: readonly SessionEvent[] = [...journal.rows.values()].flatMap((turn) => turn.events)
  return { result, events, seen: ports.deltas.map(({ text }) => text).join('') }
}

export const ofType = (events: readonly SessionEvent[], type: SessionEvent['type']) =>
  events.filter((event) => event.type === type).map(dataOf)
