import { UsageError } from '../usage.ts'

/** Where the operator's routes of remote MCP servers are. */
export const path = '/api/operator/mcp'
/** The route of one server, or of something to do with it. */
export const of = (id, what = '') => `${path}/${encodeURIComponent(id)}${what && `/${what}`}`
export const post = (request, to, json = {}) => request(to, { method: 'POST', json })

/** The one id that a command was given. */
export function only(args) {
  if (args.length === 1) return args[0]
  throw new UsageError(`<id>: give one, there are ${args.length}.`)
}
