import type { EventDraft } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { ToolOwner, ToolResult } from '#contracts/tool.ts'

export interface StartedCall {
  readonly id: string
  /** The call whose code makes this one. */
  readonly parent?: string | undefined
  readonly tool: string
  readonly input: JsonObject
  readonly argsHash: string
  readonly definitionHash: string
  readonly record: ToolOwner | undefined
}

/** What the record says of a call that begins: the same for every tool. */
export function startedEvent(call: StartedCall): EventDraft {
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

export interface FinishedCall {
  readonly id: string
  readonly parent?: string | undefined
  readonly tool: string
  /** Of the arguments that were run: behind `isola__call` and after hooks they are not those that were asked. */
  readonly argsHash?: string
  readonly result: ToolResult | undefined
  readonly durationMs: number
  readonly record: ToolOwner | undefined
}

/** What the record says of a call that is over: the same for every tool. */
export function finishedEvent(call: FinishedCall): EventDraft {
  const { id, parent, tool, argsHash, result, durationMs, record } = call
  const failed = result && !result.ok ? result.error : undefined
  return {
    type: 'tool_finished',
    data: {
      call: id,
      tool,
      ok: result?.ok ?? false,
      ...(failed && { code: failed.code }),
      durationMs,
      outputChars: result ? JSON.stringify(result.ok ? result.output : result.error).length : 0,
      ...(argsHash !== undefined && { argsHash }),
      ...(parent !== undefined && { parent }),
      taint: result?.ok ? [...(result.taint ?? [`tool:${tool}`])] : [],
      ...record,
    },
  }
}
