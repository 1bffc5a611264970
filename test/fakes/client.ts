import { exports } from 'cloudflare:workers'

const key = 'isk_test_operator_key'

/** The Worker under test, with the operator key. */
export function call(path: string, init: RequestInit & { json?: unknown } = {}): Promise<Response> {
  const { json, ...rest } = init
  const headers = new Headers(rest.headers)
  if (!headers.has('authorization')) headers.set('authorization', `Bearer ${key}`)
  // A network would say it, and `/mcp` asks for it.
  if (!headers.has('host')) headers.set('host', 'localhost')
  if (json !== undefined) headers.set('content-type', 'application/json')
  const body = json === undefined ? rest.body : JSON.stringify(json)
  const request = new Request(`http://isola.test${path}`, {
    ...rest,
    headers,
    ...(json !== undefined && { method: rest.method ?? 'POST' }),
    ...(body !== undefined && { body }),
  })
  return exports.default.fetch(request)
}

/** Answers of the Worker, as a client sees them: a test names what it expects. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Answer = any

export async function callJson(path: string, init?: Parameters<typeof call>[1]): Promise<Answer> {
  const response = await call(path, init)
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${text}`)
  return JSON.parse(text) as Answer
}

export interface SseEvent {
  readonly id?: string
  readonly event?: string
  readonly data: Answer
}

/** Reads a whole SSE answer. */
export async function readSse(response: Response): Promise<SseEvent[]> {
  const text = await response.text()
  return text.split('\n\n').flatMap((block) => {
    const fields = new Map(
      block.split('\n').flatMap((line) => {
        const at = line.indexOf(': ')
        return at > 0 ? [[line.slice(0, at), line.slice(at + 2)] as const] : []
      }),
    )
    const data = fields.get('data')
    if (data === undefined) return []
    return [
      {
        ...(fields.has('id') && { id: fields.get('id')! }),
        ...(fields.has('event') && { event: fields.get('event')! }),
        data: data === '[DONE]' ? data : JSON.parse(data),
      },
    ]
  })
}
