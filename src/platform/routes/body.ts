import { IsolaError } from '#contracts/errors.ts'
import { parseForeignJson } from '#contracts/foreign-json.ts'
import type { JsonObject } from '#contracts/json.ts'
import { checkShape } from './json-shape.ts'

/** A longer body is refused with 413. Bytes. */
export const maxBodyBytes = 4 * 1024 * 1024
const maxDiscardedBytes = 32 * 1024 * 1024

/**
 * Reads a request's JSON object, with every text and name in it well-formed. Throws `request_unsupported_media_type`,
 * `request_too_large` (without reading
 * further) or `request_invalid`.
 *
 * @param options.whenEmpty What an absent body means; without it an absent body is refused.
 */
export async function readJsonObject(
  request: Request,
  options: { readonly whenEmpty?: JsonObject } = {},
): Promise<JsonObject> {
  const contentType = request.headers.get('content-type')
  if (contentType !== null) checkContentType(contentType)
  checkEncoding(request.headers.get('content-encoding'))
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw tooLarge()
  const bytes = await readBytes(request, contentType !== null)
  if (bytes.length === 0) {
    if (options.whenEmpty) return options.whenEmpty
    throw new IsolaError('request_invalid', 'The body is empty: send a JSON object.')
  }
  const value = parseJson(decodeUtf8(bytes))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new IsolaError('request_invalid', 'The body must be a JSON object.')
  }
  checkShape(value)
  return value as JsonObject // JSON.parse makes nothing else, and it is no array
}

/** Reads a zip, as its bytes. Throws `request_too_large` (without reading further) or `request_invalid`. */
export async function readZip(request: Request): Promise<Uint8Array> {
  checkEncoding(request.headers.get('content-encoding'))
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw tooLarge()
  return readBytes(request, true)
}

/** The most bytes of a form from a stranger. */
const maxSmallBytes = 64 * 1024

/** Reads what a form sent. Throws `request_unsupported_media_type`, `request_too_large` or `request_invalid`. */
export async function readForm(request: Request): Promise<URLSearchParams> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') {
    throw new IsolaError(
      'request_unsupported_media_type',
      'Send content-type: application/x-www-form-urlencoded.',
      { param: 'content-type' },
    )
  }
  return new URLSearchParams(decodeUtf8(await readBytes(request, true, maxSmallBytes)))
}

/** The same request with its body read, once it is known to be small. Throws `request_too_large`. */
export async function withSmallBody(request: Request): Promise<Request> {
  if (request.body === null) return request
  const bytes = await readBytes(request, true, maxSmallBytes)
  return new Request(request.url, {
    method: request.method,
    headers: request.headers,
    body: bytes.slice(),
  })
}

async function readBytes(
  request: Request,
  hasContentType: boolean,
  maxBytes = maxBodyBytes,
): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array()
  // A body that says its length is no longer than that: it needs no watch.
  const said = request.headers.get('content-length')
  if (hasContentType && said !== null && Number(said) <= maxBytes)
    return readWhole(request, maxBytes)
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  const reader = request.body.getReader()
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      sizeBytes += step.value.length
      if (sizeBytes > 0 && !hasContentType) throw wrongType('The body has no content type')
      if (sizeBytes > maxBytes) throw tooLarge(maxBytes)
      chunks.push(step.value)
    }
  } catch (error) {
    // Read on without keeping it: a body that is broken off breaks the connection before the refusal is read.
    await discard(reader, maxDiscardedBytes).catch(() => undefined)
    if (error instanceof IsolaError) throw error
    throw brokenBody(error)
  }
  const only = chunks[0]
  return chunks.length === 1 && only ? only : concatenate(chunks, sizeBytes)
}

async function readWhole(request: Request, maxBytes: number): Promise<Uint8Array> {
  const whole = await request.arrayBuffer().catch((cause: unknown) => {
    throw brokenBody(cause)
  })
  if (whole.byteLength > maxBytes) throw tooLarge(maxBytes)
  return new Uint8Array(whole)
}

const brokenBody = (cause: unknown) =>
  new IsolaError('request_invalid', 'The body could not be read to its end.', { cause })

/** Up to a limit: a client that never stops must not hold up its own refusal. */
async function discard(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
): Promise<void> {
  for (let left = maxBytes; left > 0;) {
    const step = await reader.read()
    if (step.done) return
    left -= step.value.length
  }
  await reader.cancel()
}

function concatenate(chunks: readonly Uint8Array[], sizeBytes: number): Uint8Array {
  const all = new Uint8Array(sizeBytes)
  let offset = 0
  for (const chunk of chunks) {
    all.set(chunk, offset)
    offset += chunk.length
  }
  return all
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new IsolaError('request_invalid', 'The body is not valid UTF-8.', { cause })
  }
}

function parseJson(text: string): unknown {
  try {
    return parseForeignJson(text)
  } catch (cause) {
    // The parser's own words quote the body; they stay with the operator.
    throw new IsolaError('request_invalid', 'The body is not valid JSON.', { cause })
  }
}

function checkContentType(contentType: string): void {
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice(8)
  const isUtf8 = charset === undefined || /^"?utf-?8"?$/.test(charset)
  if (type !== 'application/json' || !isUtf8) throw wrongType('The content type is not accepted')
}

function checkEncoding(encoding: string | null): void {
  if (encoding !== null && encoding !== '' && encoding !== 'identity') {
    throw wrongType('A compressed body is not accepted')
  }
}

function wrongType(what: string): IsolaError {
  return new IsolaError(
    'request_unsupported_media_type',
    `${what}: send content-type: application/json in UTF-8.`,
    { param: 'content-type' },
  )
}

function tooLarge(maxBytes = maxBodyBytes): IsolaError {
  return new IsolaError('request_too_large', `The body is larger than ${maxBytes} bytes.`)
}
