import type { Clock } from '#contracts/sources.ts'
import type { ExportOutcome, RunRecord, Telemetry } from '#contracts/telemetry.ts'
import { noContent, type ContentOf } from './content.ts'
import { toExportRequest, type OtlpOptions } from './otlp-json.ts'
import type { Span } from './span.ts'
import { toSpans } from './spans.ts'

/** The collector, and what of a run it is sent. */
export interface ExporterOptions extends OtlpOptions {
  /** The whole address, `/v1/traces` included. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly clock: Pick<Clock, 'sleep'>
  /** Set if what was said is captured. */
  readonly content?: ContentOf
}

/** The whole of one request, its answer included. */
const timeoutMs = 10_000
const maxRequestChars = 1_000_000
const maxAnswerChars = 65_536

/** Sends the spans of a run to a collector over OTLP/HTTP in JSON: one request, or a few if it is a long run. */
export function createOtlpExporter(options: ExporterOptions): Telemetry {
  const { content = noContent } = options
  return {
    capturesContent: options.content !== undefined,
    async export(run) {
      for (const body of toBodies(toSpans(run, { content }), run, options)) {
        const outcome = await send(body, options)
        if (!outcome.ok) return outcome
      }
      return { ok: true }
    },
  }
}

/** One request after the other, each made when it is sent: never all of them at once. */
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

async function send(
  body: string,
  { url, headers, fetch, clock }: ExporterOptions,
): Promise<ExportOutcome> {
  const over = new AbortController()
  const late = clock.sleep(timeoutMs, over.signal).then(() => refused('does not answer in time'))
  const posted = fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
    // Followed, a redirect would carry its headers to whoever it names.
    redirect: 'manual',
    signal: over.signal,
  })
    .then(toOutcome)
    // The platform's own words may hold the address, and with it what an operator put there.
    .catch(() => refused('cannot be reached'))
  return Promise.race([posted, late]).finally(() => over.abort())
}

const refused = (what: string, isFinal = false): ExportOutcome => ({
  ok: false,
  message: `The collector ${what}.`,
  isFinal,
})

/** What OTLP says may be tried again (OTLP/HTTP, failures). */
const transient = [429, 502, 503, 504]

async function toOutcome(response: Response): Promise<ExportOutcome> {
  const { ok, status } = response
  if (!ok) {
    void response.body?.cancel().catch(() => {})
    return refused(`answered ${status}`, !transient.includes(status))
  }
  const rejected = rejectedIn(await readStart(response))
  return rejected === 0 ? { ok: true } : refused(`rejected ${rejected} spans`, true)
}

async function readStart({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (reader && text.length < maxAnswerChars) {
    const { done, value } = await reader.read()
    if (done) return text
    text += decoder.decode(value, { stream: true })
  }
  void reader?.cancel().catch(() => {})
  return text
}

/** Taken, but not all of it. */
function rejectedIn(text: string): number {
  try {
    const answer = JSON.parse(text) as { partialSuccess?: { rejectedSpans?: unknown } } | null
    const count = Number(answer?.partialSuccess?.rejectedSpans ?? 0)
    return Number.isSafeInteger(count) && count > 0 ? count : 0
  } catch {
    return 0
  }
}
