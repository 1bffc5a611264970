import * as z from 'zod'

/** The address of a collector, from a base as in OTLP/HTTP: `/v1/traces` is added. */
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

/**
 * `name=value,name=value`, values percent-encoded, as `OTEL_EXPORTER_OTLP_HEADERS` is everywhere. Messages never
 * quote it.
 */
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

/** The secrets in the header setting: every value, whatever its header's name, even if the setting is invalid. */
export function headerSecretsIn(text: string): readonly string[] {
  return text.split(',').flatMap((entry) => {
    const given = entry.slice(entry.indexOf('=') + 1).trim()
    const value = decoded(given) ?? given
    // `Bearer …`: the part after the scheme is the secret, also on its own.
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

/** Accepts the words of OpenTelemetry's instrumentations. Content goes into spans only. */
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

/** Level of the Worker's log; default `info`, in development `error`. */
export const logLevel = z
  .enum(['', 'off', 'error', 'info'], 'must be off, error or info')
  .optional()
  .transform((level) => level || undefined)

/** What the log gets: nothing, faults, or also a line for each request. */
export type ServerLogLevel = 'off' | 'error' | 'info'
