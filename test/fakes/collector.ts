import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as z from 'zod'

const anyValue = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({
    arrayValue: z.strictObject({ values: z.array(z.strictObject({ stringValue: z.string() })) }),
  }),
])
const attributes = z.array(z.strictObject({ key: z.string().min(1), value: anyValue }))
const nanos = z.string().regex(/^\d{19}$/)
const spanId = z.string().regex(/^(?!0{16})[0-9a-f]{16}$/)
const span = z
  .strictObject({
    traceId: z.string().regex(/^(?!0{32})[0-9a-f]{32}$/),
    spanId,
    parentSpanId: spanId.optional(),
    traceState: z.string().optional(),
    flags: z.int().min(0).max(0xffffffff),
    name: z.string().min(1),
    kind: z.int().min(1).max(5),
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes,
    events: z.array(z.strictObject({ timeUnixNano: nanos, name: z.string(), attributes })),
    status: z.strictObject({ code: z.literal(2).optional() }),
  })
  .refine((one) => BigInt(one.endTimeUnixNano) >= BigInt(one.startTimeUnixNano), 'ends first')

/** `ExportTraceServiceRequest` of OTLP 1, as far as we use it: unknown fields are a mistake of ours. */
export const exportRequest = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          spans: z.array(span).min(1),
        }),
      ),
    }),
  ),
})

/** A span as it was received, its attributes by name. */
export interface ReceivedSpan extends Omit<z.infer<typeof span>, 'attributes'> {
  readonly attributes: Readonly<Record<string, unknown>>
}

export const spansIn = (body: unknown): readonly ReceivedSpan[] =>
  exportRequest.parse(body).resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((one) => ({
        ...one,
        attributes: Object.fromEntries(
          one.attributes.map(({ key, value }) => [key, Object.values(value)[0] as unknown]),
        ),
      })),
    ),
  )

interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** A collector on loopback: takes spans, refuses them with a status, or never answers. */
export async function startCollector() {
  const received: Received[] = []
  let mode: number | 'hang' = 200
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      received.push({ path: request.url ?? '', headers: request.headers, text })
      if (mode === 'hang') return
      response.writeHead(mode, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    behave: (next: typeof mode) => void (mode = next),
    spans: () => received.flatMap(({ text }) => spansIn(JSON.parse(text))),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
