import type { IsolaError } from '#contracts/errors.ts'
import type { ModelCallOptions, ModelReply, ModelRequest } from '#contracts/model.ts'
import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import { createOpenAiProvider } from '../../../src/platform/models/openai-provider.ts'
import { sendOver } from '../../fakes/outbound.ts'
import { callOptions } from './call-options.ts'

export const event = (body: unknown): string => `data: ${JSON.stringify(body)}\n\n`
export const chunk = (delta: unknown, reason: unknown = null): string =>
  event({ model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })
export const text = (content: string): string => chunk({ content })
export const done = 'data: [DONE]\n\n'
export const ended = `${chunk({}, 'stop')}${done}`
export const whole = (message: unknown, reason: unknown = 'stop', more: object = {}): string =>
  JSON.stringify({ model: 'm', choices: [{ index: 0, message, finish_reason: reason }], ...more })

/** A body, in these pieces; `resets` breaks the connection there. */
export const resets = { breaks: true } as const
export interface Said {
  readonly body: string | readonly (string | typeof resets)[]
  readonly type?: string | null
  readonly status?: number
}

const utf8 = new TextEncoder()

function toResponse({ body, type = 'text/event-stream', status = 200 }: Said): Response {
  const pieces = typeof body === 'string' ? [body] : [...body]
  const stream = new ReadableStream({
    pull(controller) {
      const piece = pieces.shift()
      if (piece === undefined) controller.close()
      else if (typeof piece === 'string') controller.enqueue(utf8.encode(piece))
      else controller.error(new TypeError('Connection reset by peer'))
    },
  })
  return new Response(stream, { status, headers: type === null ? {} : { 'content-type': type } })
}

export interface Outcome {
  readonly reply?: ModelReply
  readonly error?: IsolaError
  /** What its reader saw. */
  readonly seen: string
  readonly bodies: readonly Record<string, unknown>[]
}

/** One call of a model whose server answers this, the last answer again and again. */
export async function ask(
  answers: Said | readonly Said[],
  {
    request = {},
    call = {},
    baseUrl = 'http://model.test/v1',
  }: {
    readonly request?: Partial<ModelRequest>
    readonly call?: Partial<ModelCallOptions>
    readonly baseUrl?: string
  } = {},
): Promise<Outcome> {
  const script = 'body' in answers ? [answers] : [...answers]
  const bodies: Record<string, unknown>[] = []
  let seen = ''
  const provider = createOpenAiProvider({
    baseUrl,
    send: sendOver(async (_url, init) => {
      bodies.push(JSON.parse(String(init.body)) as Record<string, unknown>)
      return toResponse((script.length > 1 ? script.shift() : script[0])!)
    }),
    // Waits between tries pass at once, limits never end.
    sleep: (ms, signal) =>
      [500, 1_000].includes(ms)
        ? Promise.resolve()
        : new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
    tokens: createTokenEstimator(),
    priceOf: () => undefined,
  })
  const asked: ModelRequest = {
    model: 'm',
    messages: [{ role: 'user', text: 'Hi', taint: ['user'] }],
    tools: [],
    parameters: {},
    ...request,
  }
  return provider
    .generate(asked, callOptions({ onDelta: (added) => (seen += added), ...call }))
    .then(
      (reply) => ({ reply, seen, bodies }),
      (error: IsolaError) => ({ error, seen, bodies }),
    )
}

/** The same message streamed in one piece, and whole. */
export const bothWays = (
  message: unknown,
  reason: unknown = 'stop',
): readonly (readonly ['streamed' | 'whole', Said, Partial<ModelCallOptions>])[] => [
  ['streamed', { body: chunk(message) + chunk({}, reason) + done }, {}],
  ['whole', { body: whole(message, reason), type: 'application/json' }, { isUnwatched: true }],
]
