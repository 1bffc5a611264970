import { defined } from '#contracts/defined.ts'
import type { RunRecord } from '#runtime/session/types/telemetry.ts'
import type { Redact } from '../redactor.ts'
import type { Attributes, AttributeValue, Span } from './span.ts'

/** The sender's name and version in every export. */
export interface OtlpOptions {
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
export function toExportRequest(
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
