import { abortIsolate, WorkerEntrypoint } from 'cloudflare:workers'
import { toJson } from '../json-border.ts'
import type { CallStubs } from './capabilities.ts'

const maxLogs = 100
const maxLogChars = 1_000
const maxMessageChars = 2_000

// Taken before the model's code can change them. This only keeps honest code working: the answer is checked outside.
const { parse, stringify } = JSON
const later = setTimeout

interface Job {
  readonly timeoutMs: number
  readonly maxChars: number
}

/** The method that the Runner calls to run code that a model wrote: JSON text in and out, never throws. */
class ModelCode extends WorkerEntrypoint {
  async run(
    text: string,
    port: CallStubs['port'],
    _fetcher: CallStubs['fetcher'],
    _closed: CallStubs['closed'],
  ): Promise<string> {
    const job = parse(text) as Job
    const logs: string[] = []
    let answer: string
    try {
      const value = await Promise.race([evaluate(port, logs), late(job.timeoutMs)])
      answer = stringify({ value: { result: toJson(value), logs } })
      if (answer.length > job.maxChars) answer = failure('too_large', {}, logs)
    } catch (error) {
      answer = failure(error === tooLate ? 'timeout' : 'failed', error, logs)
    }
    // The code must not go on after its answer.
    const answered = new Promise((resolve) => later(resolve, 0))
    this.ctx.waitUntil(answered.then(() => abortIsolate('done')))
    return answer
  }
}
Object.freeze(ModelCode.prototype)
export default Object.freeze(ModelCode)

const tooLate = Object.freeze({})

const late = (ms: number): Promise<never> =>
  new Promise((_resolve, reject) => void later(() => reject(tooLate), ms))

type ModelFunction = (tools: object, console: object) => Promise<unknown>

async function evaluate(port: CallStubs['port'], logs: string[]): Promise<unknown> {
  const { default: code } = (await import('plugin-code.js')) as unknown as {
    readonly default: ModelFunction
  }
  const log = (...said: readonly unknown[]): void => {
    if (logs.length < maxLogs) logs.push(said.map(toText).join(' ').slice(0, maxLogChars))
  }
  const call = async (name: unknown, input: unknown = {}): Promise<unknown> => {
    const answer = parse(await port('tools.call', stringify(toJson([String(name), input])))) as {
      readonly value?: unknown
      readonly error?: { readonly message: string }
    }
    if (answer.error) throw new Error(answer.error.message)
    return answer.value
  }
  const console = { log, info: log, warn: log, error: log, debug: log }
  return code(toolsOf(call), Object.freeze(console))
}

/** `tools.call(name, input)`, and `tools.kv.get(input)` for `tools.call('kv__get', input)`. */
function toolsOf(call: (name: string, input: unknown) => Promise<unknown>): object {
  const ofOwner = (owner: string): object =>
    new Proxy(Object.freeze({}), {
      // Without `then`, an `await` on this object by mistake returns at once and calls no tool.
      get: (_target, name) =>
        typeof name === 'string' && name !== 'then'
          ? (input: unknown) => call(`${owner}__${name}`, input)
          : undefined,
    })
  return new Proxy(Object.freeze({ call }), {
    get: (target, owner) =>
      owner === 'call'
        ? target.call
        : typeof owner === 'string' && owner !== 'then'
          ? ofOwner(owner)
          : undefined,
  })
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Error) return `${value.name}: ${value.message}`
  try {
    return stringify(toJson(value))
  } catch {
    return String(value)
  }
}

/** Name, message and line of an error: the caller wrote the code, so it may read them. */
function failure(code: string, error: unknown, logs: readonly string[]): string {
  try {
    const { name, message, stack } = Object(error) as Record<string, unknown>
    const place = /plugin-code\.js:(\d+)/.exec(String(stack))?.[1]
    const text = typeof message === 'string' ? `${String(name)}: ${message}` : String(error)
    return stringify({
      error: {
        code,
        message: text.slice(0, maxMessageChars),
        // The first line of the module is ours.
        ...(place !== undefined && { line: Number(place) - 1 }),
        logs,
      },
    })
  } catch {
    return '{"error":{"code":"failed"}}'
  }
}
