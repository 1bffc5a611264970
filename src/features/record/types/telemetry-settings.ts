import * as z from 'zod'

/** An address that spans are posted to, from a base as OTLP/HTTP has it: `/v1/traces` is added. */
export const otlpEndpoint = z
  .string()
  .optional()
  .transform((text, context): string | undefined => {
    if (text === undefined || text.trim() === '') return undefined
    const problem = endpointProblem(text.trim())
    if (problem === undefined) return `${text.trim().replace(/(?<!\/)\/+$/, '')}/v1/traces`
    context.addIssue({ code: 'custom', message: problem })
    return z.NEVER
  })

function endpointProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    return 'must be the http or https address of a collector, such as https://collector.example:4318'
  if (url.username !== '' || url.password !== '')
    return 'holds a credential; put it into OTEL_EXPORTER_OTLP_HEADERS'
  if (url.search !== '' || url.hash !== '')
    return 'must end with its path; /v1/traces is added to it'
  return undefined
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const hostHeaders = /^(host|content-type|content-length|transfer-encoding|connection)$/i

/** `name=value,name=value`, values percent-encoded, as `OTEL_EXPORTER_OTLP_HEADERS` is everywhere. Never quoted back. */
export const otlpHeaders = z
  .string()
  .optional()
  .transform((text = '', context): Readonly<Record<string, string>> => {
    const headers: Record<string, string> = {}
    const entries = text.split(',').filter((entry) => entry.trim() !== '')
    for (const [index, entry] of entries.entries()) {
      const at = entry.indexOf('=')
      const name = entry.slice(0, Math.max(0, at)).trim()
      const value = decoded(entry.slice(at + 1).trim())
      if (headerName.test(name) && !hostHeaders.test(name) && isValue(value)) {
        headers[name.toLowerCase()] = value
        continue
      }
      const message = `entry ${index + 1} must be name=value, the value percent-encoded (authorization=Bearer%20…)`
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    }
    return headers
  })

/** What nobody else may read of it: every value, whatever its header is called and whatever is wrong with the rest. */
export function headerSecretsIn(text: string): readonly string[] {
  return text.split(',').flatMap((entry) => {
    const given = entry.slice(entry.indexOf('=') + 1).trim()
    const value = decoded(given) ?? given
    // `Bearer …`: what comes after the scheme is the secret, also by itself.
    return [given, value, ...value.split(' ').slice(-1)]
  })
}

const isValue = (value: string | undefined): value is string =>
  value !== undefined && value !== '' && /^[\x20-\x7e]+$/.test(value)

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The words that OpenTelemetry's instrumentations take here; spans are the only place we have for content. */
export const captureContent = z
  .string()
  .optional()
  .transform((text = '') => text.trim().toLowerCase())
  .pipe(
    z.enum(
      ['', 'true', 'false', 'span_only', 'span_and_event', 'no_content'],
      'must be true or false',
    ),
  )
  .transform((word) => ['true', 'span_only', 'span_and_event'].includes(word))

/** What is written to the Worker's log; unset: `info`, in development `error`. */
export const logLevel = z
  .enum(['', 'off', 'error', 'info'], 'must be off, error or info')
  .optional()
  .transform((level) => level || undefined)

/** What goes into the log: nothing, what went wrong, or a line for each request too. */
export type LogLevel = 'off' | 'error' | 'info'
