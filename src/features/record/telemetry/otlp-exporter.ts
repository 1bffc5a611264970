import { OutboundError, type Answer, type Send } from '#contracts/outbound.ts'
import type { ExportOutcome, RunRecord, Telemetry } from '#runtime/session/types/telemetry.ts'
import { noContent, type ContentOf } from './content.ts'
import { toExportRequest, type OtlpOptions } from './otlp-json.ts'
import type { Span } from './span.ts'
import { toSpans } from './spans.ts'

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

async function toOutcome(answer: Answer): Promise<ExportOutcome> {
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
