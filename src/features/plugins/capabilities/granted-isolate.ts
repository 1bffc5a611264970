import * as z from 'zod'
import { headOf } from '#contracts/cut.ts'
import { parseForeignJson } from '#contracts/foreign-json.ts'
import { type Usage, zeroUsage } from '#contracts/lease.ts'
import { ToolError, type PluginIsolate, type PluginTools } from '#features/plugins/types/plugin.ts'
import type { ToolContext, ToolOwner } from '#contracts/tool.ts'
import { refusal } from '../sandbox/call-gate.ts'
import type { CallStubs } from '../sandbox/inside/capabilities.ts'
import type { PluginRunnerStub } from '../sandbox/isolate-host.ts'
import { isolateSettings } from '../sandbox/worker-code.ts'
import { toJson } from '../sandbox/json-border.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import { failed } from '../types/plugin-output.ts'

/** Cloudflare's price of each loaded isolate, in billionths of a US dollar. */
export const newIsolateNanoUsd = 2_000_000

const maxCodeChars = 100_000
const defaultTimeoutMs = 10_000
const maxTimeoutMs = 60_000
const maxChars = 256 * 1024
/** Extra time of the Runner's own deadline, for code that keeps the timer inside from firing. Milliseconds. */
const graceMs = 1_000
const maxToldLogChars = 1_000

/** Runs code that a model wrote. */
export interface ModelCodeRunner {
  readonly runner: () => PluginRunnerStub
  readonly sha256: (text: string) => string
  /** `isolateVersion` of our own modules. */
  readonly shimVersion: string
}

const line = z
  .string()
  .max(1_000)
  .transform((text) => text.toWellFormed())
const logs = z.array(line).max(100).default([])
const answerSchema = z.lazy(() =>
  z.union([
    z.strictObject({ value: z.strictObject({ result: z.unknown(), logs }) }),
    z.object({
      error: z.object({
        code: z.string().max(64),
        message: z
          .string()
          .transform((text) => headOf(text, 1_500))
          .default(''),
        // From a stack that the code may have forged.
        line: z.int().min(1).max(100_000).optional().catch(undefined),
        logs,
      }),
    }),
  ]),
)

/** The capability `isolate` of one call, and its cost. */
export type GrantedIsolate = ReturnType<typeof createGrantedIsolate>

/**
 * Runs code that a model wrote. Each run gets a new isolate that has only the call's own `tools` and ends with the
 * call (decision 0106).
 */
export function createGrantedIsolate(
  { runner, sha256, shimVersion }: ModelCodeRunner,
  context: Pick<ToolContext, 'rootSession' | 'lease' | 'signal' | 'call' | 'emit'>,
  { tools, record }: { readonly tools: PluginTools; readonly record: ToolOwner },
) {
  const { rootSession, lease, signal, call, emit } = context
  let opened = 0
  const run = async (code: string, timeoutMs: number): Promise<unknown> => {
    if (lease.maxCostNanoUsd < (opened + 1) * newIsolateNanoUsd)
      throw failed('The budget does not allow another isolate ($0.002 each).')
    opened += 1
    const parts = ['model code', code, rootSession, shimVersion, isolateSettings]
    const isolate = sha256(JSON.stringify(parts))
    const about = { isolate: isolate.slice(0, 12), costNanoUsd: newIsolateNanoUsd }
    emit({ type: 'isolate_started', data: { call, ...record, ...about } })
    const over = new AbortController()
    const ended = aborted(AbortSignal.any([signal, over.signal]))
    const running = runner().run(
      {
        isolate,
        plugin: '',
        modelCode: code,
        job: JSON.stringify({ timeoutMs, maxChars }),
        timeoutMs: timeoutMs + graceMs,
        maxChars,
      },
      createPort(tools),
      async () => refusal('There is no network here.'),
      () => ended,
    )
    return running.finally(() => over.abort())
  }
  const isolate: PluginIsolate = {
    async run(given, { timeoutMs: wanted = defaultTimeoutMs } = {}) {
      const code = parseCode(given)
      const timeoutMs = Math.min(Math.max(1, Math.trunc(Number(wanted)) || 1), maxTimeoutMs)
      const answer = readAnswer(await run(code, timeoutMs))
      if (!('value' in answer)) throw toFailure(answer.error, timeoutMs)
      // `toJson` makes null of an absent result.
      return { result: toJson(answer.value.result), logs: answer.value.logs }
    },
  }
  /** Cost of the isolates that were started so far. */
  const spent = (): Usage | undefined =>
    opened === 0 ? undefined : { ...zeroUsage, costNanoUsd: opened * newIsolateNanoUsd }
  return { isolate, spent }
}

/** The only functions that the code can call: the tools of its call. */
function createPort(tools: PluginTools): CallStubs['port'] {
  const serve = async (verb: string, json: string): Promise<string> => {
    if (verb !== 'tools.call') return refusal('There is only tools.call.')
    const [name, input] = callSchema.parse(parseForeignJson(json))
    return JSON.stringify({ value: toJson(await tools.call(name, input)) })
  }
  return (verb, json) =>
    serve(verb, json).catch((error: unknown) =>
      refusal(
        errorCode(error) === 'tool_failed'
          ? headOf(errorMessage(error), 2_000)
          : 'tools.call(name, input): a name and an object.',
      ),
    )
}

const callSchema = z.tuple([z.string(), z.record(z.string(), z.unknown())])

function parseCode(given: unknown): string {
  if (typeof given !== 'string' || given.trim() === '' || given.length > maxCodeChars)
    throw failed(`Code is a text of 1 to ${maxCodeChars} characters.`)
  return given
}

function readAnswer(text: unknown): z.infer<typeof answerSchema> {
  try {
    if (typeof text === 'string' && text.length <= maxChars)
      return answerSchema.parse(parseForeignJson(text))
  } catch {
    // An unreadable answer did not come from our entry.
  }
  return { error: { code: 'odd_answer', message: '', logs: [] } }
}

function toFailure(
  {
    code,
    message,
    line,
    logs: said,
  }: Extract<z.infer<typeof answerSchema>, { error: object }>['error'],
  timeoutMs: number,
): ToolError {
  const told = said.length === 0 ? '' : `\nLogged before: ${said.join('\n')}`
  const about = `${describe(code, message, timeoutMs)}${line === undefined ? '' : ` (line ${line})`}`
  return failed(`${about}${headOf(told, maxToldLogChars)}`)
}

function describe(code: string, message: string, timeoutMs: number): string {
  switch (code) {
    case 'timeout':
      return `The code took longer than ${timeoutMs} ms and was stopped.`
    case 'too_large':
      return 'The code returned more than 256 KiB of JSON.'
    case 'exceeded':
      return `The code was stopped: it ${message}.`
    case 'failed':
    case 'syntax':
      return `The code failed. ${message}`
    default:
      return 'The code stopped without an answer.'
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
