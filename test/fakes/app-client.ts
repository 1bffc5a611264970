import { createClient, type Client } from '../../src/client/client.ts'

/** The client of programs, over what answers in this process. */
export function clientOf(
  send: (path: string, init?: RequestInit) => Response | Promise<Response>,
): Client {
  return createClient({
    url: 'http://isola.test',
    fetch: async (input, init) => {
      const { pathname, search } = new URL(String(input))
      return send(pathname + search, init)
    },
  })
}

/** The same over answers by path; `sent` is the body of a request that has one. */
export const answeringClient = (answer: (path: string, sent: unknown) => unknown): Client =>
  clientOf(async (path, { body } = {}) => {
    const reply = await answer(path, typeof body === 'string' ? JSON.parse(body) : undefined)
    return reply instanceof Response ? reply : Response.json(reply ?? {})
  })
