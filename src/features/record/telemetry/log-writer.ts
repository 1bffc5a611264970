import { headOf } from '#contracts/cut.ts'
import { errorCode } from '#contracts/errors.ts'
import type { Clock } from '#contracts/sources.ts'
import type { RequestEntry } from '#platform/routes/types.ts'
import type { ServerLogLevel } from '../types/telemetry-settings.ts'
import { createRedactor, type Redact } from '../redactor.ts'

/** Level, redactor and output of the log. */
export interface LogWriterOptions {
  readonly level: ServerLogLevel
  readonly redact: Redact
  readonly clock: Pick<Clock, 'nowMs'>
  /** Takes one line of JSON. */
  readonly write: (level: 'error' | 'info', line: string) => void
}

/** The Worker's log: one line of JSON for each request and each fault. No other code writes to it. */
export interface LogWriter {
  /** Absent if requests are not logged: then callers need not build an entry. */
  readonly request?: (entry: RequestEntry) => void
  /** @param secrets Secrets of this request that the redactor does not know, such as the shown key. */
  readonly fault: (error: unknown, requestId?: string, secrets?: readonly string[]) => void
}

const maxTextChars = 4_000
/** How many characters of a text are examined. */
const maxReadChars = 4 * maxTextChars
const maxCauses = 5
const maxFrames = 6

/** Writes one line of JSON for each event at the set level, and redacts known secrets. */
export function createLogWriter({ level, redact, clock, write }: LogWriterOptions): LogWriter {
  const line = (severity: 'error' | 'info', event: string, fields: object) => {
    const at = new Date(clock.nowMs()).toISOString()
    write(severity, JSON.stringify({ level: severity, event, at, ...fields }))
  }
  return {
    ...(level === 'info' && { request: (entry) => line('info', 'request', entry) }),
    fault(error, requestId, secrets = []) {
      if (level === 'off') return
      const redactShown = createRedactor(secrets)
      const clean = (text: string) =>
        headOf(withoutCredentials(cutShort(redactShown(redact(text)))), maxTextChars)
      const [first, ...causes] = chainOf(error).map((one) => describe(one, clean))
      line('error', 'fault', {
        ...(requestId && { requestId }),
        ...first,
        ...(causes.length > 0 && { causes }),
      })
    },
  }
}

/** An error and its chain of causes; stops at a cycle. */
function chainOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = []
  for (let next = error; next !== undefined && next !== null && chain.length < maxCauses;) {
    if (chain.includes(next)) break
    chain.push(next)
    next = typeof next === 'object' && 'cause' in next ? next.cause : undefined
  }
  return chain.length > 0 ? chain : [error]
}

function describe(error: unknown, clean: Redact): object {
  if (!(error instanceof Error)) return { message: clean(String(error)) }
  const detail: unknown = Reflect.get(error, 'detail')
  return {
    name: clean(error.name),
    ...(errorCode(error) !== undefined && { code: errorCode(error) }),
    message: clean(error.message),
    ...(typeof detail === 'string' && { detail: clean(detail) }),
    ...(error.stack !== undefined && { frames: framesOf(error.stack).map(clean) }),
  }
}

/** Without the message, which has its own field. */
const framesOf = (stack: string): readonly string[] =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, maxFrames)
    .map((line) => line.trim())

/**
 * A cut inside an address hides the end of its user part, so the rest of that address is removed. Known secrets are
 * redacted before, so that none is cut in two.
 */
const cutShort = (text: string): string =>
  text.length <= maxReadChars
    ? text
    : headOf(text, maxReadChars).replace(/:\/\/[^\s/?#"'<>]*$/, '://[cut]')

/**
 * Removes credentials in general: the user part and the query of addresses, and values that look like an
 * Authorization header. Every expression here takes linear time, since an error may quote any text.
 */
const withoutCredentials = (text: string): string =>
  text
    .replace(/[^\s"'<>]+/g, toPlace)
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, '$1 [redacted]')

function toPlace(word: string): string {
  const from = word.indexOf('://')
  if (from < 0) return word
  const length = word.slice(from).search(/[?#]/)
  const place = length < 0 ? word : `${word.slice(0, from + length)}?[cut]`
  return place.replace(/:\/\/[^/]*@/g, '://[redacted]@')
}
