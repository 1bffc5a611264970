import * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { toContentBlocks, toStructured } from './types.ts'
import type { DirectOutcome } from '#runtime/session/types/submission.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { PauseView, RunView } from '#runtime/session/types/session-view.ts'

/**
 * A failure for a client's model: our code, and the message for callers. In text alone: clients of 2025 check
 * structured content against the tool's `outputSchema` in a failure too, and show an error of their own instead of
 * ours.
 */
export function toFailure(code: string, message: string): CallToolResult {
  return { content: [text(`${code}: ${message}`)], isError: true }
}

/** The failure for a thrown value. An error without a code of ours is a bug: its text stays inside. */
export function toThrownFailure(error: unknown, onFault: (error: unknown) => void): CallToolResult {
  const code = errorCode(error)
  if (code === undefined) {
    onFault(error)
    return toFailure('internal_error', 'Something went wrong on our side.')
  }
  return toFailure(code, errorMessage(error))
}

/** The state of a run: its result, its open questions, or where to ask later. */
export function toRunResult(view: RunView): CallToolResult {
  const { id: run, session, state, result, pauses } = view
  const place = { session, run, state }
  if (pauses) {
    const structuredContent = { ...place, waits_for: pauses.map(toWait) }
    return { content: [text(waitText(view, pauses))], structuredContent }
  }
  if (!result) return { content: [text(openText(view))], structuredContent: place }
  const { output, error, success } = result
  const structuredContent = {
    ...place,
    result: result.result,
    ...defined({ output }),
    ...(error && { error: { ...error } }),
  }
  const said = result.result === '' ? [] : [text(result.result)]
  const why = error ? [text(`${error.code}: ${error.message}`)] : []
  const more = text(`session: ${session}`)
  return { content: [...said, ...why, more], structuredContent, isError: !success }
}

/** A tool's output in the protocol's form. */
export function toToolResult(output: Json): CallToolResult {
  const structured = toStructured(output)
  return {
    content: toContentBlocks(output) as CallToolResult['content'], // the same words, by their schema
    ...(isObject(structured) && { structuredContent: structured }),
  }
}

const directOutcome = z.union([
  z.strictObject({ ok: z.literal(true), call: z.string(), output: z.json() }),
  z.strictObject({ ok: z.literal(false), call: z.string(), code: z.string(), message: z.string() }),
])

/** The outcome of a direct call, if its run has one: no model was asked, and it made that one call. */
export function outcomeOf({ result }: RunView): DirectOutcome | undefined {
  if (!result || result.modelCalls.length > 0 || result.actions.length !== 1) return undefined
  const read = directOutcome.safeParse(result.output)
  return read.success ? (read.data as DirectOutcome) : undefined
}

const text = (said: string) => ({ type: 'text' as const, text: said })

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const toWait = ({
  call,
  kind,
  tool,
  input,
  about,
  argsHash,
  expiresAtMs,
}: PauseView): JsonObject => ({
  call,
  kind,
  tool,
  input,
  ...defined({ about }),
  argsHash,
  ...defined({ expiresAtMs }),
})

function waitText({ id, session }: RunView, pauses: readonly PauseView[]): string {
  const limit = pauses.find(({ reached }) => reached?.limit !== undefined)?.reached
  if (limit)
    return (
      `${limit.message} Raise it with POST /api/sessions/${session}/runs/${id}/limits, then ask ` +
      `isola__run_status with session ${session} and run ${id}.`
    )
  const what = pauses
    .map(({ kind, tool, reached }) => reached?.message ?? `${kind} (${tool})`)
    .join(', ')
  return (
    `The run waits for someone: ${what}. Decide it with POST ` +
    `/api/sessions/${session}/runs/${id}/decisions, then ask isola__run_status with session ${session} and run ${id}.`
  )
}

const openText = ({ id, session, state }: RunView): string =>
  `The run is ${state}. Ask isola__run_status with session ${session} and run ${id}.`
