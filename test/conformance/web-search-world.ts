import type { FakeDeps } from '../fakes/plugins.ts'
import { braveAnswer, searxngAnswer, tavilyAnswer } from '../fixtures/web-search/answers.ts'
import { readerOf } from '../fakes/secrets.ts'

export interface SentRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const answers: Readonly<Record<string, unknown>> = {
  'api.search.brave.com': braveAnswer,
  'api.tavily.com': tavilyAnswer,
  'search.example.com': searxngAnswer,
}

/** The search services as far as their documentation goes; a query can be the status to answer, or `hang`. */
export function createSearchWorld(secrets: Readonly<Record<string, string>> = {}) {
  const sent: SentRequest[] = []
  const deps = {
    readSecrets: readerOf({
      BRAVE_API_KEY: 'brave-key-1',
      TAVILY_API_KEY: 'tvly-key-1',
      ...secrets,
    }),
    fetch: async (url, init) => {
      const body = typeof init.body === 'string' ? init.body : ''
      const headers = Object.fromEntries(new Headers(init.headers))
      sent.push({ url, method: init.method ?? 'GET', headers, body })
      const { hostname, searchParams } = new URL(url)
      const asked = body === '' ? searchParams.get('q') : String(JSON.parse(body).query)
      if (asked === 'hang')
        return new Promise((_resolve, reject) =>
          init.signal?.addEventListener('abort', () => reject(new Error('stopped'))),
        )
      if (asked === 'page') return new Response('<html>')
      if (asked === 'odd') return Response.json({ web: { results: [null, 7, { url: 'x' }] } })
      const status = /^\d{3}$/.test(asked ?? '') ? Number(asked) : 200
      return Response.json(status === 200 ? answers[hostname] : {}, { status })
    },
  } satisfies FakeDeps
  return { deps, sent }
}
