import { levelOf } from '#contracts/log-level.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { CallEnd } from './call-end.ts'

const maxLogChars = 2_000
const maxLogsPerCall = 200

/** Tells what a plugin says of a call: its first 200 lines, of at most 2,000 characters each, until it is over. */
export function createLog(context: ToolContext, over: CallEnd) {
  let count = 0
  return (type: 'tool_log' | 'tool_progress', message: string, more: JsonObject): void => {
    count += 1
    if (over.isOver() || count > maxLogsPerCall) return
    const text = String(message).slice(0, maxLogChars)
    context.emit({ type, data: { call: context.call, message: text, ...more } })
  }
}

/** What is no level, or no number, is left out: these are words for people, not a reason to fail. */
export const toLevel = (level: unknown): JsonObject => {
  const known = levelOf(level)
  return known === undefined ? {} : { level: known }
}

/** How far a call is, as numbers; `{}` if it does not say so. */
export function toNumbers(at: unknown): JsonObject {
  const { progress, total } = Object(at) as {
    readonly progress?: unknown
    readonly total?: unknown
  }
  if (typeof progress !== 'number' || !Number.isFinite(progress)) return {}
  const isTotal = typeof total === 'number' && Number.isFinite(total)
  return { progress, ...(isTotal && { total }) }
}
