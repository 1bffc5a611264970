import * as z from 'zod'
import type { MessageImage } from '#contracts/message.ts'
import { invalid, type Said } from '../history.ts'
import { fromContent } from './compaction-item.ts'
import { imageUrl } from './image-url.ts'
import { type RunPlace, parseItemId } from '../wire-ids.ts'

const contentPart = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  refusal: z.string().optional(),
  image_url: imageUrl.nullish(),
})
const content = z.union([z.string(), z.array(contentPart)])

/** Clients leave `type` out of a message. What is no message, call or output is known by its `type`. */
export const inputItem = z.looseObject({
  type: z.string().nullish(),
  id: z.string().nullish(),
  role: z.enum(['user', 'assistant', 'system', 'developer']).optional(),
  content: content.optional(),
  call_id: z.string().min(1).max(200).optional(),
  name: z.string().min(1).max(64).optional(),
  namespace: z.string().max(64).nullish(),
  arguments: z.string().optional(),
  encrypted_content: z.string().nullish(),
  output: content.optional(),
})

/** One item of `input`, of a kind that we read or that is passed over. */
export type InputItem = z.infer<typeof inputItem>

/** Of other providers' tools and of reasoning: of no use to another model, and no error either. */
const ignored = /^(reasoning|[a-z_]+_call|[a-z_]+_call_output|mcp_[a-z_]+)$/

/** An item behind the others that asks for a compaction of them instead of an answer. */
export const compactionTrigger = 'compaction_trigger'

/** What an item reference stands for, if it is an item of ours. */
export type ResolveItem = (id: string) => Said | undefined

/**
 * Throws `request_invalid` naming the item of the field.
 */
export function toSaidItems(
  items: readonly InputItem[],
  field: 'input' | 'items',
  resolve: ResolveItem,
): readonly Said[] {
  return items.flatMap((item, index) => toSaid(item, `${field}[${index}]`, resolve))
}

/**
 * A compaction of ours stands for all that is before it: of that only instructions are still read, and what the user
 * said that is not in it. Pictures are compared as they are, whatever address they came from.
 */
export function sinceCompaction(said: readonly Said[]): readonly Said[] {
  const last = said.findLastIndex(({ kind }) => kind === 'compacted')
  const compacted = said[last]
  if (compacted?.kind !== 'compacted') return said
  const known = new Set(
    compacted.messages.flatMap((one) => (one.role === 'user' ? [keyOf(one.text, one.images)] : [])),
  )
  const isNew = (one: Said) =>
    one.kind === 'instructions' || (one.kind === 'user' && !known.has(keyOf(one.text, one.images)))
  return said.filter((one, index) => index >= last || isNew(one))
}

const keyOf = (text: string, images: readonly MessageImage[] = []): string =>
  [text, ...images.map(({ url }) => url)].join('\n')

/** The runs that item references point into. */
export function referencedRuns(items: readonly InputItem[]): readonly RunPlace[] {
  const places = items.flatMap((item) =>
    item.type === 'item_reference' ? (parseItemId(item.id ?? '') ?? []) : [],
  )
  return [...new Map(places.map((place) => [place.run, place])).values()]
}

function toSaid(item: InputItem, at: string, resolve: ResolveItem): Said[] {
  const { type, role } = item
  if (role !== undefined && (type ?? 'message') === 'message') return [toMessage(item, role, at)]
  switch (type) {
    case 'function_call':
      return [toCall(item, at)]
    case 'function_call_output': {
      if (item.call_id === undefined) throw invalid(`${at}.call_id`, 'is required')
      if (item.output === undefined) throw invalid(`${at}.output`, 'is required')
      return [
        { kind: 'output', callId: item.call_id, output: textOf(item.output, `${at}.output`), at },
      ]
    }
    case 'item_reference': {
      const said = resolve(item.id ?? '')
      if (said) return [said]
      throw invalid(`${at}.id`, 'is no item that is kept here: send the item itself')
    }
    case 'compaction':
    case 'compaction_summary':
    case 'context_compaction':
      return toCompacted(item, at)
    case compactionTrigger:
      throw invalid(at, 'must be the last item of a request of its own')
    case 'message':
      throw invalid(`${at}.role`, 'must be user, assistant, system or developer')
    default:
      if (type && ignored.test(type)) return []
      throw invalid(`${at}.type`, `${type ?? 'nothing'} is not a kind of item that is taken here`)
  }
}

function toCall(item: InputItem, at: string): Said {
  const { call_id: callId, name, namespace, arguments: given } = item
  if (callId === undefined) throw invalid(`${at}.call_id`, 'is required')
  if (name === undefined) throw invalid(`${at}.name`, 'is required')
  if (given === undefined) throw invalid(`${at}.arguments`, 'is required')
  const full = namespace ? `${namespace}__${name}` : name
  return { kind: 'call', callId, name: full, arguments: given, at }
}

/** One of another provider is of no use to anybody else. */
function toCompacted({ encrypted_content: content }: InputItem, at: string): Said[] {
  const messages = fromContent(content ?? '', `${at}.encrypted_content`)
  return messages ? [{ kind: 'compacted', messages, at }] : []
}

function toMessage(item: InputItem, role: NonNullable<InputItem['role']>, at: string): Said {
  if (item.content === undefined) throw invalid(`${at}.content`, 'is required')
  const text = textOf(item.content, `${at}.content`)
  if (role === 'system' || role === 'developer') return { kind: 'instructions', text }
  if (role === 'assistant') return { kind: 'assistant', text, at }
  const images =
    typeof item.content === 'string'
      ? []
      : item.content.flatMap(({ type, image_url: url }, index) =>
          type === 'input_image' && url ? [{ url, at: `${at}.content[${index}].image_url` }] : [],
        )
  if (text === '' && images.length === 0)
    throw invalid(`${at}.content`, 'is empty: say what is wanted')
  return { kind: 'user', text, images, at }
}

const textTypes = new Set(['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text'])

function textOf(given: NonNullable<InputItem['content']>, at: string): string {
  if (typeof given === 'string') return given
  const texts = given.map(({ type, text, refusal, image_url: image }, index) => {
    if (textTypes.has(type) && text !== undefined) return text
    if (type === 'refusal' && refusal !== undefined) return refusal
    if (type === 'input_image' && image) return ''
    throw invalid(`${at}[${index}].type`, `${type} is not taken here: send text or an image by URL`)
  })
  return texts.filter((text) => text !== '').join('\n')
}
