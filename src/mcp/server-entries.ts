import { toolDestroys } from '#contracts/decide-tool.ts'
import { errorCode } from '#contracts/errors.ts'
import type { JsonSchema } from '#contracts/json.ts'
import type { McpCall, McpItem, McpPin, McpProgress, McpServerApi } from '#contracts/mcp.ts'
import type { ToolContext, ToolEntry, ToolFailure, ToolResult } from '#contracts/tool.ts'
import { spanIdOf, toTraceparent } from '#contracts/trace.ts'
import { untilAborted } from './until-aborted.ts'

/** One call's leave to go on: it ends when the server is switched off, or what was approved of it changes. */
export interface Leave {
  readonly signal?: AbortSignal
  readonly end: () => void
}

export interface EntryDeps {
  readonly at: (id: string) => Pick<McpServerApi, 'call' | 'cancel'>
  /** Throws if there is no leave to begin. */
  readonly takeLeave: (pin: McpPin) => Promise<Leave>
  readonly sha256: (text: string) => string
}

/** A longer wait is for connecting and for a list that has to be looked at first. */
export const extraMs = 5_000

/** The approved tools of a server as the registry wants them. */
export function toServerEntries(
  pin: McpPin,
  items: readonly McpItem[],
  deps: EntryDeps,
): readonly ToolEntry[] {
  return items.flatMap((item) => (item.kind === 'tool' ? [toEntry(pin, item, deps)] : []))
}

function toEntry(pin: McpPin, item: McpItem, deps: EntryDeps): ToolEntry {
  const { description, inputSchema, annotations } = item.definition
  const name = `${pin.id}__${item.tool ?? item.key}`
  const hints = Object(annotations) as Readonly<Record<string, unknown>>
  // What a server says in its own favour counts only where the operator confirmed it.
  const isConfirmed = pin.confirmed.includes(item.key)
  return {
    tool: {
      name,
      description:
        typeof description === 'string' && description.trim() !== ''
          ? description
          : `The tool ${item.tool} of the MCP server ${pin.id}.`,
      inputSchema: inputSchema as JsonSchema,
      execute: (input, context) =>
        callServer({ name, pin, item, ask: { do: 'tool', input }, deps }, context),
    },
    isReadOnly: isConfirmed && hints['readOnlyHint'] === true,
    isIdempotent: isConfirmed && hints['idempotentHint'] === true,
    ...(toolDestroys({ destructiveHint: hints['destructiveHint'] === true }, {}) && {
      isDestructive: true,
    }),
    timeoutMs: pin.config.timeoutMs + extraMs,
    definitionHash: item.hash,
    record: { server: pin.id, tier: 'mcp' },
  }
}

export interface ServerCall {
  readonly name: string
  readonly pin: McpPin
  readonly item: McpItem
  readonly ask: McpCall['ask']
  readonly deps: EntryDeps
}

/** Asks the server's object; what stops the call here stops it there. Never throws. */
export async function callServer(
  { name, pin, item, ask, deps }: ServerCall,
  context: ToolContext,
): Promise<ToolResult> {
  const leave = await deps.takeLeave(pin).catch(() => undefined)
  if (!leave) return { ok: false, error: noLeave }
  const signal = leave.signal ? AbortSignal.any([context.signal, leave.signal]) : context.signal
  const api = deps.at(pin.id)
  const callId = `${context.session} ${context.run} ${context.call}`
  // A signal does not cross RPC.
  const cancel = () => void api.cancel(callId).catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const { config, epoch } = pin
    const call: McpCall = {
      callId,
      config,
      epoch,
      item,
      ask,
      idempotencyKey: context.idempotencyKey,
      traceparent: toTraceparent({
        trace: context.trace,
        span: spanIdOf(deps.sha256, context.run, context.call),
        link: context.traceLink,
      }),
      timeoutMs: config.timeoutMs,
    }
    const result = await untilAborted(api.call(call, tellOf(context)), signal)
    return result.ok ? { ...result, taint: [`tool:${name}`] } : result
  } catch {
    return { ok: false, error: whyStopped(name, context.signal, leave.signal) }
  } finally {
    signal.removeEventListener('abort', cancel)
    leave.end()
  }
}

const maxProgress = 100

/** What the server says of how far it is, so often at most. */
function tellOf({ call, emit, signal }: ToolContext): (progress: McpProgress) => void {
  let count = 0
  return ({ progress, total, message = '' }) => {
    count += 1
    if (signal.aborted || count > maxProgress) return
    const share = total === undefined ? String(progress) : `${progress}/${total}`
    emit({
      type: 'tool_progress',
      data: { call, message: `${share} ${message}`.trim().slice(0, 500) },
    })
  }
}

const noLeave: ToolFailure = {
  code: 'tool_denied',
  message: 'This MCP server was switched off, or what was approved of it changed.',
}

function whyStopped(name: string, own: AbortSignal, leave: AbortSignal | undefined): ToolFailure {
  if (leave?.aborted) return noLeave
  if (!own.aborted)
    return { code: 'tool_failed', message: `The tool ${name} could not be asked.`, transient: true }
  return errorCode(own.reason) === 'tool_timeout'
    ? { code: 'tool_timeout', message: `The tool ${name} took too long and was stopped.` }
    : { code: 'tool_cancelled', message: `The tool ${name} was cancelled.` }
}
