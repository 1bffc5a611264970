import { defined } from '#contracts/defined.ts'
import { PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/client'
import { fieldsOf, withoutNulls } from './types.ts'
import { isFields, wellFormedJson } from '#contracts/foreign-json.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { createGuardedFetch } from './guarded-fetch.ts'

type Fetch = ReturnType<typeof createGuardedFetch>
type Fields = Readonly<Record<string, unknown>>

/** One request that is on its way, by its id. */
interface Asked {
  readonly method: string
  readonly isModern: boolean
}

/** Where a result is, as its server wrote it. */
const rawKey = 'isola/raw'

/** An answer of a server, unchecked. */
export const rawOf = (result: unknown): unknown => {
  const { _meta } = fieldsOf(result)
  return isFields(_meta) && rawKey in _meta ? _meta[rawKey] : result
}

/**
 * The results that are read here, by readers of our own, with what the library wants to see instead of them. The
 * library
 * refuses a whole answer for one field that is null, and a list for one entry.
 */
const readHere: Readonly<Record<string, Fields>> = {
  'tools/call': { content: [] },
  'tools/list': { tools: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [] },
  'prompts/list': { prompts: [] },
  'prompts/get': { messages: [] },
}
const modernFields = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

/**
 * A fetch whose answers are brought into the protocol's form before the library parses them: null is absent, `error:
 * null`
 * beside a result is no error, an answer in another content type is read for what it is. Texts are well-formed.
 */
export function readingRaw(carry: Fetch): Fetch {
  const asked = new Map<string, Asked>()
  return async (target, init) => {
    const mine = askedIn(init)
    if (mine) asked.set(mine.id, mine)
    const response = await carry(target, init)
    const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
    if (isStream && response.body) return withBody(response, readEvents(response.body, asked))
    if (!mine || response.body === null || passesOn(response, mine)) return response
    asked.delete(mine.id)
    return readWhole(response, mine)
  }
}

/** Signing in, a session that is gone and the choice of a protocol go by the status: those answers stay as they are. */
const passesOn = ({ ok, status }: Response, { method }: Asked): boolean =>
  [202, 401, 403, 404, 405, 410].includes(status) || (!ok && !(method in readHere))

function askedIn(init: RequestInit | undefined): (Asked & { readonly id: string }) | undefined {
  if (init?.method !== 'POST' || typeof init.body !== 'string') return undefined
  const { id, method, params } = parsed(init.body) ?? {}
  if (typeof method !== 'string' || id === undefined) return undefined
  const isModern = PROTOCOL_VERSION_META_KEY in fieldsOf(fieldsOf(params)['_meta'])
  return { id: String(id), method, isModern }
}

function parsed(text: string): Fields | undefined {
  const value = valueIn(text)
  return isFields(value) ? value : undefined
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The messages of an event: one, or a list of them. Values that are no messages are left out. */
function messagesIn(text: string, asked: Map<string, Asked>): readonly Fields[] {
  return messagesOf(valueIn(wellFormedJson(text)), asked)
}

function messagesOf(value: unknown, asked: Map<string, Asked>, only?: string): readonly Fields[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all.flatMap((one) => {
    const message = toMessage(one, asked, only)
    return message ? [message] : []
  })
}

async function readWhole(
  response: Response,
  mine: Asked & { readonly id: string },
): Promise<Response> {
  const text = wellFormedJson(await response.text())
  const asked = new Map([[mine.id, mine]])
  const unread = (why: string): Response => {
    // How a server is spoken to, the library finds out by what it answers.
    if (response.ok && mine.method in readHere)
      throw new IsolaError('tool_failed', `The MCP server answered ${why}.`)
    return withBody(response, text)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    if (!response.ok || !looksLikeEvents.test(text)) return unread('what is no JSON')
    return withBody(response, readEvents(new Response(text).body!, asked), 'text/event-stream')
  }
  const messages = messagesOf(value, asked, mine.id)
  if (messages.length === 0) return unread('what is no JSON-RPC message')
  // An error in the protocol's form passes whole, whatever the HTTP status.
  if (!response.ok && !messages.some((one) => 'error' in one)) return withBody(response, text)
  const status = response.ok ? response.status : 200
  const body = written(messages.length === 1 ? messages[0]! : messages)
  return withBody({ headers: response.headers, status }, body, 'application/json')
}

/** A stream with another content type. */
const looksLikeEvents = /^(data|event|id|retry)?:/

function written(message: object): string {
  try {
    return JSON.stringify(message)
  } catch {
    throw new IsolaError('tool_failed', 'The MCP server answered what is nested too deeply.')
  }
}

function withBody(
  { headers: given, status }: Pick<Response, 'headers' | 'status'>,
  body: BodyInit,
  contentType?: string,
): Response {
  const headers = new Headers(given)
  headers.delete('content-length')
  if (contentType !== undefined) headers.set('content-type', contentType)
  return new Response(body, { status, headers })
}

/** Each event of a stream with its message in the protocol's form; an event without a message stays unchanged. */
function readEvents(
  body: ReadableStream<Uint8Array>,
  asked: Map<string, Asked>,
): ReadableStream<Uint8Array> {
  /** The start of a line whose end has not arrived. */
  let rest = ''
  let endsInReturn = false
  let fields: string[] = []
  let data: string[] = []
  const finishEvent = (): string => {
    const [kept, said] = [fields, data]
    fields = []
    data = []
    const messages = said.length > 0 ? messagesIn(said.join('\n'), asked) : []
    if (messages.length === 0)
      return [...kept, ...said.map((one) => `data: ${one}`), '', ''].join('\n')
    // A message counts under any event name. Each gets an event of its own, and the last gets the id: a client that
    // resumes behind it has all of them.
    const named = kept.filter((one) => !one.startsWith('event:'))
    return messages
      .map((message, index) => {
        const fieldsOfIt = index === messages.length - 1 ? named : []
        return [...fieldsOfIt, `data: ${written(message)}`, '', ''].join('\n')
      })
      .join('')
  }
  const readLine = (line: string): string => {
    if (line === '') return finishEvent()
    if (/^data(:|$)/.test(line)) data.push(line.slice(5).replace(/^ /, ''))
    else fields.push(line)
    return ''
  }
  const lines = new TransformStream<string, string>({
    transform(chunk, controller) {
      const isOver = endsInReturn || /[\r\n]/.test(chunk)
      rest += chunk
      if (!isOver) return
      // A break of two characters may come in two chunks.
      endsInReturn = rest.endsWith('\r')
      const whole = (endsInReturn ? rest.slice(0, -1) : rest).split(/\r\n|\n|\r/)
      rest = (whole.pop() ?? '') + (endsInReturn ? '\r' : '')
      const out = whole.map(readLine).join('')
      if (out !== '') controller.enqueue(out)
    },
    flush(controller) {
      readLine(rest.replace(/\r$/, '') || ':')
      // A last event without its empty line is whole if its JSON is.
      if (valueIn(data.join('\n')) !== undefined) controller.enqueue(finishEvent())
    },
  })
  return body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .pipeThrough(lines)
    .pipeThrough(new TextEncoderStream())
}

/**
 * A message of a server as the protocol writes it; nothing if it is none.
 *
 * @param only The request that is answered where the answer does not say which.
 */
function toMessage(value: unknown, asked: Map<string, Asked>, only?: string): Fields | undefined {
  if (!isFields(value)) return undefined
  const jsonrpc = '2.0'
  const { id, method, params, result, error } = fieldsOf(value)
  if (typeof method === 'string')
    return {
      jsonrpc,
      ...defined({ id }),
      method,
      ...(isFields(params) && { params: withoutNulls(params) }),
    }
  if (!('result' in value || 'error' in value)) return undefined
  const of = id ?? only
  const request = asked.get(String(of))
  asked.delete(String(of))
  const about = { jsonrpc, ...defined({ id: of }) }
  if (error !== undefined && !(result !== undefined && saysNothing(error)))
    return { ...about, error: toError(error) }
  return { ...about, result: toResult(result ?? {}, request) }
}

/** Values that a language without null writes for "no error". */
const saysNothing = (error: unknown): boolean => {
  const { code, message, data } = fieldsOf(error)
  return !error || (isFields(error) && !code && !message && data === undefined)
}

function toError(error: unknown): Fields {
  const { code, message, data } = fieldsOf(error)
  const words = message ?? (isFields(error) ? data : error) ?? error
  return {
    code: Number.isSafeInteger(Number(code ?? NaN)) ? Number(code) : -32_603,
    message: typeof words === 'string' ? words : JSON.stringify(words),
    ...defined({ data }),
  }
}

function toResult(result: unknown, request: Asked | undefined): unknown {
  const { method = '', isModern = false } = request ?? {}
  if (method === 'initialize' || method === 'server/discover') return toAbout(result, method)
  const stub = readHere[method]
  if (!stub) return isFields(result) ? fieldsOf(result) : {}
  const { resultType, inputRequests } = fieldsOf(result)
  const kind = resultType ?? (inputRequests === undefined ? 'complete' : 'input_required')
  if (isModern && kind !== 'complete')
    return { ...(withoutNulls(result) as Fields), resultType: kind }
  return { ...stub, ...(isModern && modernFields), _meta: { [rawKey]: result } }
}

/** A server's own description: capabilities that it leaves out are asked for all the same. */
function toAbout(result: unknown, method: string): unknown {
  const about = withoutNulls(result)
  if (!isFields(about)) return result
  const { capabilities, serverInfo, instructions, ...more } = about
  const known = isFields(capabilities)
    ? Object.entries(capabilities).filter(([, part]) => part !== false)
    : ['tools', 'resources', 'prompts'].map((name) => [name, {}] as const)
  const { name = '', version = '' } = fieldsOf(serverInfo)
  return {
    ...more,
    capabilities: Object.fromEntries(known.map(([key, part]) => [key, isFields(part) ? part : {}])),
    ...(method === 'initialize' && {
      serverInfo: { name: String(name), version: String(version) },
    }),
    ...(instructions !== undefined && {
      instructions: typeof instructions === 'string' ? instructions : JSON.stringify(instructions),
    }),
  }
}
