import type { ServerContext } from '@modelcontextprotocol/server'
import type { StreamItem, ToldData } from '#contracts/event.ts'

/**
 * Sends the turns and tool calls of a run to the client, if it asked for progress. Contract: never throws; a client
 * that is gone does not concern the run.
 */
export function createTeller({ mcpReq }: ServerContext): (item: StreamItem) => void {
  const token = mcpReq._meta?.progressToken
  let progress = 0
  const tell = (
    message: string,
    at: Pick<ToldData<'tool_progress'>, 'progress' | 'total'> = {},
  ) => {
    if (token === undefined) return
    // Progress has to grow: an item without a number counts on from the last.
    progress = at.progress === undefined ? progress + 1 : Math.max(at.progress, progress)
    const total = at.total === undefined ? {} : { total: at.total }
    const params = { progressToken: token, progress, ...total, message }
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
  return (item) => {
    if (item.type === 'message_delta') return
    if (item.type === 'tool_log') {
      const { level = 'info', message = '' } = item.data
      mcpReq.log(level, message).catch(() => undefined)
    }
    if (item.type === 'tool_progress') tell(item.data.message, item.data)
    if (item.type === 'tool_started' && item.data.parent === undefined)
      tell(`calls ${item.data.tool}`)
    if (item.type === 'message_finished') tell(`turn ${item.data.turn}`)
  }
}
