import type { EventDraft } from '#contracts/event.ts'
import type { CallRecord } from './types/journal.ts'
import type { ToolOwner, ToolResult } from '#contracts/tool.ts'

/** A call as the record has it. `parent` is the call whose code makes it. */
type Told = Pick<CallRecord, 'id' | 'tool'> & {
  readonly parent?: string | undefined
  readonly record: ToolOwner | undefined
}
type Started = Told & Pick<CallRecord, 'input' | 'definitionHash'> & { readonly argsHash: string }
type Finished = Told &
  Pick<CallRecord, 'argsHash'> & { result: ToolResult | undefined; durationMs: number }

/** The event of a call that begins: the same for every tool. */
export function startedEvent(call: Started): EventDraft {
  const { id, parent, tool, input, argsHash, definitionHash, record } = call
  const data = {
    call: id,
    tool,
    argsHash,
    inputChars: JSON.stringify(input).length,
    definitionHash,
    ...(parent !== undefined && { parent }),
    ...record,
  }
  return { type: 'tool_started', data }
}

/** The event of a call that is over: the same for every tool. */
export function finishedEvent(call: Finished): EventDraft {
  const { id, parent, tool, argsHash, result, durationMs, record } = call
  return {
    type: 'tool_finished',
    data: {
      call: id,
      tool,
      ok: result?.ok ?? false,
      ...(result && !result.ok && { code: result.error.code }),
      durationMs,
      outputChars: result ? JSON.stringify(result.ok ? result.output : result.error).length : 0,
      ...(argsHash !== undefined && { argsHash }),
      ...(parent !== undefined && { parent }),
      taint: result?.ok ? [...(result.taint ?? [`tool:${tool}`])] : [],
      ...record,
    },
  }
}
