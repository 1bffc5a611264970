import { headOf } from '#contracts/cut.ts'
import type { EventData, EventDraft } from '#contracts/event.ts'
import { levelOf } from '../types/log-level.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { CallEnd } from './call-end.ts'

const maxLogChars = 2_000
const maxLogsPerCall = 200

/** Tells what a plugin says of a call: its first 200 lines, of at most 2,000 characters each, until it is over. */
export function createLog(context: ToolContext, over: CallEnd) {
  let count = 0
  return (message: string, toDraft: (said: Said) => EventDraft): void => {
    count += 1
    if (over.isOver() || count > maxLogsPerCall) return
    const shown = headOf(String(message), maxLogChars).toWellFormed()
    context.emit(toDraft({ call: context.call, message: shown }))
  }
}

interface Said {
  readonly call: string
  readonly message: string
}

/** What is no level, or no number, is left out: these are words for people, not a reason to fail. */
export const toLevel = (level: unknown): Pick<EventData<'tool_log'>, 'level'> => {
  const known = levelOf(level)
  return known === undefined ? {} : { level: known }
}

/** How far a call is, as numbers; `{}` if it does not say so. */
export function toNumbers(at: unknown): Pick<EventData<'tool_progress'>, 'progress' | 'total'> {
  const { progress, total } = Object(at) as {
    readonly progress?: unknown
    readonly total?: unknown
  }
  if (typeof progress !== 'number' || !Number.isFinite(progress)) return {}
  const isTotal = typeof total === 'number' && Number.isFinite(total)
  return { progress, ...(isTotal && { total }) }
}
