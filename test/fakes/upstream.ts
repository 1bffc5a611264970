import { vi } from 'vitest'

/** One reply of the scripted model server, in OpenAI's wire format. */
export interface UpstreamReply {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly input: unknown }[]
  readonly status?: number
  /** The body of a reply with that status. */
  readonly error?: object
  /** Awaited before the answer; an aborted request ends it. */
  readonly wait?: Promise<unknown>
}

export interface UpstreamRequest {
  readonly model: string
  readonly stream?: boolean
  readonly messages: readonly {
    readonly role: string
    readonly content: unknown
    readonly tool_calls?: unknown
  }[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

export type UpstreamScript = (request: UpstreamRequest, index: number) => UpstreamReply

/**
 * Stands in for the model server of the workers tests: the same bytes on the same fetch, without a network.
 * Every completion bills 100 input and 10 output tokens. `elsewhere` answers what is for other hosts.
 */
export function installUpstream(
  script: UpstreamScript,
  elsewhere: (request: Request) => Response | Promise<Response> = ({ url }) => {
    throw new Error(`unexpected request to ${url}`)
  },
) {
  const requests: UpstreamRequest[] = []
  let aborts = 0
  const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input, init)
    if (!request.url.startsWith('http://model.test/')) return elsewhere(request)
    const body = (await request.json()) as UpstreamRequest
    requests.push(body)
    const reply = script(body, requests.length - 1)
    await Promise.race([
      reply.wait,
      new Promise((_resolve, reject) => {
        const leave = () => {
          if (reply.wait) aborts += 1
          reject(new DOMException('aborted', 'AbortError'))
        }
        if (init?.signal?.aborted) leave()
        else init?.signal?.addEventListener('abort', leave)
        if (!reply.wait) _resolve(undefined)
      }),
    ])
    if (reply.status)
      return Response.json(
        { error: reply.error ?? { message: 'upstream' } },
        { status: reply.status },
      )
    if (!body.stream) return Response.json(toCompletion(reply, body.model))
    return new Response(toSse(reply, body.model), {
      headers: { 'content-type': 'text/event-stream' },
    })
  })
  return {
    requests,
    /** How many requests were given up while they waited. */
    aborted: () => aborts,
    restore: () => spy.mockRestore(),
  }
}

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }

const toToolCalls = (calls: NonNullable<UpstreamReply['calls']>) =>
  calls.map(({ name, input }, index) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
  }))

function toCompletion({ text = '', calls = [] }: UpstreamReply, model: string): object {
  const message = {
    role: 'assistant',
    content: text,
    ...(calls.length > 0 && { tool_calls: toToolCalls(calls) }),
  }
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop'
  const choices = [{ index: 0, message, finish_reason }]
  return { id: 'chatcmpl-test', object: 'chat.completion', created: 0, model, choices, usage }
}

function toSse({ text = '', calls = [] }: UpstreamReply, model: string): string {
  const chunk = (delta: object, finish: string | null = null) => ({
    id: 'chatcmpl-test',
    object: 'chat.completion.chunk',
    created: 0,
    model,
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const toolCalls = toToolCalls(calls).map((call, index) => ({ ...call, index }))
  const half = Math.ceil(text.length / 2)
  const chunks = [
    chunk({ role: 'assistant', content: text.slice(0, half) }),
    ...(text.length > 1 ? [chunk({ content: text.slice(half) })] : []),
    ...(toolCalls.length > 0 ? [chunk({ tool_calls: toolCalls })] : []),
    chunk({}, toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    {
      id: 'chatcmpl-test',
      object: 'chat.completion.chunk',
      created: 0,
      model,
      choices: [],
      usage,
    },
  ]
  return `${chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`
}
