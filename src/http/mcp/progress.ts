import type { ServerContext } from '@modelcontextprotocol/server'
import type { StreamItem } from '#contracts/event.ts'
import { levelOf } from '#contracts/log-level.ts'

/**
 * Tells the client what happens, if it asked: turns and tool calls of a run. Contract: never throws; whether anybody
 * hears is of no concern to the run.
 */
export function createTeller({ mcpReq }: ServerContext): (item: StreamItem) => void {
  const token = mcpReq._meta?.progressToken
  let progress = 0
  const tell = (
    message: string,
    at: { readonly progress?: unknown; readonly total?: unknown } = {},
  ) => {
    if (token === undefined) return
    // It has to grow: what counts by itself goes on from where the other stopped.
    progress = typeof at.progress === 'number' ? Math.max(at.progress, progress) : progress + 1
    const total = typeof at.total === 'number' ? { total: at.total } : {}
    const params = { progressToken: token, progress, ...total, message }
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
  return (item) => {
    if (item.type === 'message_delta') return
    const { data } = item
    if (item.type === 'tool_log')
      mcpReq.log(levelOf(data['level']) ?? 'info', textOf(data['message'])).catch(() => undefined)
    if (item.type === 'tool_progress') tell(textOf(data['message']), data)
    if (item.type === 'tool_started' && data['parent'] === undefined)
      tell(`calls ${textOf(data['tool'])}`)
    if (item.type === 'message_finished') tell(`turn ${textOf(data['turn'])}`)
  }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''
