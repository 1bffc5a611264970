import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'

/** Tokens of a sign-in are good at one host, and each process listens at another port. */
export const host = 'localhost:8787'

const agent = new Agent({ keepAlive: true })

export interface Sent {
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Called with the text so far. */
  readonly onText?: (text: string) => void
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** One request at the deployment's own host name, wherever it listens. */
export function send(url: string, { method, headers, body, onText }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { method, agent, headers: { ...headers, host } }
    const request = httpRequest(url, options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        onText?.(text)
      })
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      )
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** Throws unless the answer is good. */
export async function sendJson(
  url: string,
  { key, json }: { readonly key: string; readonly json?: object },
): Promise<Record<string, unknown>> {
  const { status, text } = await send(url, {
    method: json ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(json && { body: JSON.stringify(json) }),
  })
  if (status >= 300) throw new Error(`${url} answered ${status}: ${text.slice(0, 500)}`)
  return JSON.parse(text) as Record<string, unknown>
}

export const closeClients = (): void => agent.destroy()
