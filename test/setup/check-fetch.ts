import { problemOf } from './check-replies.ts'

const { fetch } = globalThis

/** Compares every reply of a server under test with the OpenAPI document; replies of other servers have no id of ours. */
globalThis.fetch = async (input, init) => {
  const reply = await fetch(input, init)
  if (!reply.headers.get('x-request-id')?.startsWith('req_')) return reply
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
  const url = input instanceof Request ? input.url : String(input)
  const problem = await problemOf({ method, url }, reply)
  if (problem !== undefined) throw new Error(problem)
  return reply
}
