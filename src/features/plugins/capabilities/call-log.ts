import { headOf } from '#contracts/cut.ts'
import type { EventData, EventDraft } from '#contracts/event.ts'
import { levelOf } from '../types/log-level.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { CallEnd } from './call-end.ts'

const maxLogChars = 2_000
const maxLogsPerCall = 200

/**
 * Emits a plugin's log lines of a call: the first 200 lines, of at most 2,000 characters each, until the call is
 * over.
 */
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

/** An invalid level is left out: a log line is for people, and no reason to fail a call. */
export const toLevel = (level: unknown): Pick<EventData<'tool_log'>, 'level'> => {
  const known = levelOf(level)
  return known === undefined ? {} : { level: known }
}

/** A call's progress as numbers; `{}` without valid numbers. */
export function toNumbers(at: unknown): Pick<EventData<'tool_progress'>, 'progress' | 'total'> {
  const { progress, total } = Object(at) as {
    readonly progress?: unknown
    readonly total?: unknown
  }
  if (typeof progress !== 'number' || !Number.isFinite(progress)) return {}
  const isTotal = typeof total === 'number' && Number.isFinite(total)
  return { progress, ...(isTotal && { total }) }
}
