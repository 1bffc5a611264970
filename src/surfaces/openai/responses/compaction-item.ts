import * as z from 'zod'
import { parseForeignJson } from '#contracts/foreign-json.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { labelFrom } from '#contracts/label.ts'
import type { Message } from '#contracts/message.ts'
import { imageDetails } from '../types.ts'
import { imageUrl } from '../said-parts.ts'
import { withoutOpaque } from '#runtime/session/types/message-parts.ts'
import { checkShape } from '#platform/routes/json-shape.ts'
import { invalid } from '../history.ts'

/** The prefix of our own texts; base64 follows. */
const prefix = 'isola.1.'

const json = z.json() as z.ZodType<Json>
const input = z.record(z.string(), json) as z.ZodType<JsonObject>
/** The ids and names of calls and tools: as long as those of items may be. */
const name = z.string().max(200)
const image = z.strictObject({
  url: imageUrl,
  detail: z.enum(imageDetails).exactOptional(),
  offset: z.int().min(0).exactOptional(),
})
const messageSchema = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    text: z.string(),
    images: z.array(image).exactOptional(),
    name: name.exactOptional(),
    /** A summary, written by no participant. */
    isSummary: z.literal(true).exactOptional(),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    text: z.string(),
    name: name.exactOptional(),
    toolCalls: z.array(z.strictObject({ id: name, name, input })).exactOptional(),
  }),
  z.strictObject({ role: z.literal('tool'), callId: name, name, output: json }),
])
type Kept = z.infer<typeof messageSchema>
const contentSchema = z.strictObject({ messages: z.array(messageSchema) })

/**
 * A compacted conversation as one text that its client stores and sends back. The text is opaque, not secret, and not
 * signed: its content came from that client, or from a model that was shown nothing else, and it is trusted no more
 * than the client's own messages (docs/decisions/0050-a-client-keeps-its-compaction.md).
 */
export const toContent = (messages: readonly Message[]): string =>
  prefix + toBase64(JSON.stringify({ messages: messages.flatMap(toKept) }))

/**
 * The messages behind such a text; `undefined` for another provider's text.
 *
 * @param at Its place, for the error: throws `request_invalid` for a text of ours that cannot be read.
 */
export function fromContent(content: string, at: string): readonly Message[] | undefined {
  if (!content.startsWith(prefix)) return undefined
  const unreadable = invalid(at, 'cannot be read: send it as it was given out')
  let value: unknown
  try {
    value = parseForeignJson(fromBase64(content.slice(prefix.length)))
  } catch {
    throw unreadable
  }
  const parsed = contentSchema.safeParse(value)
  if (!parsed.success || !isPaired(parsed.data.messages)) throw unreadable
  checkShape(parsed.data)
  return parsed.data.messages.map(toMessage)
}

/** Each call has its output right behind it, as model services and our own items want it. */
function isPaired(messages: readonly Kept[]): boolean {
  const open = new Set<string>()
  for (const message of messages) {
    if (message.role === 'tool' ? !open.delete(message.callId) : open.size > 0) return false
    if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) open.add(id)
  }
  return open.size === 0
}

function toKept(message: Message): readonly Kept[] {
  switch (message.role) {
    case 'system':
      return []
    case 'user': {
      const { role, text, images, name: speaker, taint } = message
      const isSummary = taint.includes('context')
      const more = { ...(images && { images: [...images] }), ...(isSummary && { isSummary }) }
      return [{ role, text, ...named(speaker), ...more }]
    }
    case 'assistant': {
      const { role, text, name: speaker, toolCalls } = withoutOpaque(message) as typeof message
      return [{ role, text, ...named(speaker), ...(toolCalls && { toolCalls: [...toolCalls] }) }]
    }
    case 'tool': {
      const { role, callId, name, output } = message
      return [{ role, callId, name, output }]
    }
  }
}

const named = (speaker: string | undefined) => (speaker === undefined ? {} : { name: speaker })

/** The sources of a summary are not known here: they may be pages and private data, so it is labelled so. */
const summaryLabel = labelFrom('a summary that the client kept')

/** Labelled as what the client tells us, whatever it was before; a summary as the worst. */
function toMessage(kept: Kept): Message {
  switch (kept.role) {
    case 'user': {
      const { isSummary, ...rest } = kept
      return isSummary
        ? { ...rest, taint: ['user', 'context'], label: summaryLabel }
        : { ...rest, taint: ['user'] }
    }
    case 'assistant':
      return { ...kept, taint: ['user', 'model'] }
    case 'tool':
      return { ...kept, isError: false, taint: ['user', `tool:${kept.name}`] }
  }
}

/** So many arguments may a call have. */
const maxPiece = 0x8000

function toBase64(text: string): string {
  const bytes = new TextEncoder().encode(text)
  let binary = ''
  for (let at = 0; at < bytes.length; at += maxPiece)
    binary += String.fromCharCode(...bytes.subarray(at, at + maxPiece))
  return btoa(binary)
}

const fromBase64 = (text: string): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
    Uint8Array.from(atob(text), (char) => char.charCodeAt(0)),
  )
