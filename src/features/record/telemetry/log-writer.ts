import { headOf } from '#contracts/cut.ts'
import { errorCode } from '#contracts/errors.ts'
import type { Clock } from '#contracts/sources.ts'
import type { RequestEntry } from '#runtime/session/types/telemetry.ts'
import type { LogLevel } from '../types/telemetry-settings.ts'
import { createRedactor, type Redact } from '../redactor.ts'

/** What is written to the log, and what is taken out of it before. */
export interface LogWriterOptions {
  readonly level: LogLevel
  readonly redact: Redact
  readonly clock: Pick<Clock, 'nowMs'>
  /** Takes one line of JSON. */
  readonly write: (level: 'error' | 'info', line: string) => void
}

/** The Worker's log: one line of JSON for each request and for each fault. Nothing else writes to it. */
export interface LogWriter {
  /** Absent where no request is logged: then nobody has to make an entry of it. */
  readonly request?: (entry: RequestEntry) => void
  /** @param secrets What came in with the request and is known to nobody else, such as a key that was shown. */
  readonly fault: (error: unknown, requestId?: string, secrets?: readonly string[]) => void
}

const maxTextChars = 4_000
/** So much of a text is looked through. */
const maxReadChars = 4 * maxTextChars
const maxCauses = 5
const maxFrames = 6

/** Writes one line of JSON for each event, at the level that was set; known secrets are taken out. */
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

/** An error, what it was caused by, and so on; a ring ends. */
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

/** Without the message, which is there already. */
const framesOf = (stack: string): readonly string[] =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, maxFrames)
    .map((line) => line.trim())

/** An address whose user part is cut shows no end of it: it goes. Known secrets are out by now, so none is cut. */
const cutShort = (text: string): string =>
  text.length <= maxReadChars
    ? text
    : headOf(text, maxReadChars).replace(/:\/\/[^\s/?#"'<>]*$/, '://[cut]')

/**
 * Whoever holds it: what an address carries besides its place, and what an Authorization header looks like. Every
 * expression here takes time in proportion to the text: an error may quote anything.
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
