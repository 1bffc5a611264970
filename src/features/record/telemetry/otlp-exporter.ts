import { defined } from '#contracts/defined.ts'
import type { RunRecord, ExportOutcome, Telemetry } from '#runtime/session/types/telemetry.ts'
import type { Redact } from '../redactor.ts'
import type { Attributes, AttributeValue, Span, ContentOf } from './span.ts'
import { OutboundError, type OutboundAnswer, type Send } from '#contracts/outbound.ts'
import { noContent, createContent } from './content.ts'
import { toSpans } from './spans.ts'

/** The sender's name and version in every export. */
interface OtlpOptions {
  readonly serviceName: string
  readonly version: string
  /** Applied to every exported text. */
  readonly redact: Redact
}

/** `Span.SpanKind` and `Status.StatusCode` in OTLP's JSON are numbers. */
const kinds = { internal: 1, client: 3 } as const
const statusError = 2
/** `Span.flags`: sampled; whether `isRemote` is known; and whether the parent is remote. */
const flags = { sampled: 1, knowsRemote: 0x100, isRemote: 0x200 } as const

/**
 * `ExportTraceServiceRequest` in OTLP's JSON: ids in hex, 64-bit numbers as strings, enums as numbers, lowerCamelCase.
 * @see https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
function toExportRequest(
  { trace, link }: Pick<RunRecord, 'trace' | 'link'>,
  spans: readonly Span[],
  { serviceName, version, redact }: OtlpOptions,
): object {
  const attributes = (of: Attributes) =>
    Object.entries(of).flatMap(([key, value]) =>
      value === undefined ? [] : [{ key, value: toAnyValue(value, redact) }],
    )
  return {
    resourceSpans: [
      {
        resource: {
          attributes: attributes({ 'service.name': serviceName, 'service.version': version }),
        },
        scopeSpans: [
          {
            scope: { name: 'isola', version },
            spans: spans.map((span) => ({
              traceId: trace,
              spanId: span.id,
              ...(link?.state !== undefined && { traceState: link.state }),
              ...defined({ parentSpanId: span.parent }),
              flags: flags.sampled | flags.knowsRemote | (span.isParentRemote ? flags.isRemote : 0),
              name: redact(span.name),
              kind: kinds[span.kind],
              startTimeUnixNano: toNanos(span.startMs),
              endTimeUnixNano: toNanos(Math.max(span.startMs, span.endMs)),
              attributes: attributes({ ...span.attributes, 'error.type': span.error }),
              events: span.events.map((event) => ({
                timeUnixNano: toNanos(event.atMs),
                name: event.name,
                attributes: attributes(event.attributes),
              })),
              // No status message: it could quote a user's text.
              status: span.error === undefined ? {} : { code: statusError },
            })),
          },
        ],
      },
    ],
  }
}

const toNanos = (ms: number): string => `${Math.max(0, Math.trunc(ms))}000000`

function toAnyValue(value: AttributeValue, redact: Redact): object {
  switch (typeof value) {
    case 'string':
      return { stringValue: redact(value) }
    case 'boolean':
      return { boolValue: value }
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
    default:
      return 'double' in value
        ? { doubleValue: value.double }
        : { arrayValue: { values: value.map((one) => ({ stringValue: redact(one) })) } }
  }
}

/** The collector, and the contents it is sent. */
export interface ExporterOptions extends OtlpOptions {
  /** The whole address, `/v1/traces` included. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly send: Send
  /** Set if message contents are captured. */
  readonly content?: ContentOf
}

/** Limit of one request, its answer included. Milliseconds. */
const timeoutMs = 10_000
const json = { 'content-type': 'application/json' }
const maxRequestChars = 1_000_000
const maxAnswerBytes = 65_536

/** Sends the spans of a run to a collector over OTLP/HTTP in JSON: one request, or several for a long run. */
export function createOtlpExporter(options: ExporterOptions): Telemetry {
  const { content = noContent } = options
  return {
    capturesContent: options.content !== undefined,
    async export(run) {
      for (const body of toBodies(toSpans(run, { content }), run, options)) {
        const outcome = await post(body, options)
        if (!outcome.ok) return outcome
      }
      return { ok: true }
    },
  }
}

/** Makes each request when it is sent: never all of them at once. */
function* toBodies(
  spans: readonly Span[],
  run: RunRecord,
  options: ExporterOptions,
): Iterable<string> {
  const toBody = (of: readonly Span[]) => JSON.stringify(toExportRequest(run, of, options))
  const emptyChars = toBody([]).length
  let [batch, sizeChars] = [[] as Span[], emptyChars]
  for (const span of spans) {
    const chars = toBody([span]).length - emptyChars + 1 // and its comma
    if (batch.length > 0 && sizeChars + chars > maxRequestChars) {
      yield toBody(batch)
      ;[batch, sizeChars] = [[], emptyChars]
    }
    batch.push(span)
    sizeChars += chars
  }
  yield toBody(batch)
}

async function post(body: string, { url, headers, send }: ExporterOptions): Promise<ExportOutcome> {
  const sent = { url, method: 'POST', headers: { ...headers, ...json }, body }
  try {
    // Redirects are not followed: the headers with their credentials would go to another host.
    return await toOutcome(await send(sent, { operator: url, maxBytes: maxAnswerBytes, timeoutMs }))
  } catch (error) {
    // The platform's message may contain the address, and with it secrets that an operator put there.
    const failure = error instanceof OutboundError ? error.failure : undefined
    // The collector accepted the spans, and its answer is longer than needed.
    if (failure === 'too_large') return { ok: true }
    return refused(failure === 'late' ? 'does not answer in time' : 'cannot be reached')
  }
}

const refused = (what: string, isFinal = false): ExportOutcome => ({
  ok: false,
  message: `The collector ${what}.`,
  isFinal,
})

/** Statuses after which OTLP/HTTP allows another attempt. */
const transient = [429, 502, 503, 504]

async function toOutcome(answer: OutboundAnswer): Promise<ExportOutcome> {
  const { status } = answer
  if (status < 200 || status > 299) {
    answer.cancel()
    return refused(`answered ${status}`, !transient.includes(status))
  }
  const rejected = rejectedIn(await answer.text())
  return rejected === 0 ? { ok: true } : refused(`rejected ${rejected} spans`, true)
}

/** How many spans the collector rejected from a request that it accepted. */
function rejectedIn(text: string): number {
  try {
    const answer = JSON.parse(text) as { partialSuccess?: { rejectedSpans?: unknown } } | null
    const count = Number(answer?.partialSuccess?.rejectedSpans ?? 0)
    return Number.isSafeInteger(count) && count > 0 ? count : 0
  } catch {
    return 0
  }
}

interface TelemetryParts extends Omit<ExporterOptions, keyof OtlpConfig | 'content'> {
  readonly otlp: OtlpConfig
}

export interface OtlpConfig {
  /** Absent: no traces are exported. */
  readonly url: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly capturesContent: boolean
}

/** The exporter of traces; `undefined` if no address is set. */
export function composeTelemetry({ otlp, ...parts }: TelemetryParts): Telemetry | undefined {
  const { url, headers, serviceName, capturesContent } = otlp
  if (url === undefined) return undefined
  return createOtlpExporter({
    ...parts,
    url,
    headers,
    serviceName,
    ...(capturesContent && { content: createContent(parts.redact) }),
  })
}
