import * as z from 'zod'
import type { MessageImage } from '#contracts/message.ts'
import { invalid, type Said } from '../history.ts'
import {
  imageDetail,
  imageUrl,
  type SaidPart,
  speakerName,
  toSaidMessage,
  toSaidOutput,
} from '../said-parts.ts'
import { fromContent } from './compaction-item.ts'
import {
  type WirePlace,
  parseItemId,
  toCallId,
  toFunctionCallId,
  toMessageId,
} from '../wire-ids.ts'
import { joinLabels } from '#contracts/label.ts'
import type { OpenaiDeps } from '../work.ts'
import { foldResponse } from '../run-response.ts'

const contentPart = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
  image_url: imageUrl.nullish(),
  detail: imageDetail.nullish(),
})
const content = z.union([z.string(), z.array(contentPart)])

/**
 * Null is absent, in each field. Clients leave `type` out of a message. Items other than messages, calls and outputs
 * are known by their `type`.
 */
export const inputItem = z.looseObject({
  type: z.string().nullish(),
  id: z.string().nullish(),
  role: z.enum(['user', 'assistant', 'system', 'developer']).nullish(),
  content: content.nullish(),
  call_id: z.string().min(1).max(200).nullish(),
  /** The name of a function, or of a speaker. */
  name: speakerName.nullish(),
  namespace: z.string().max(64).nullish(),
  arguments: z.string().nullish(),
  /** The input of a custom tool. */
  input: z.string().nullish(),
  encrypted_content: z.string().nullish(),
  output: content.nullish(),
})

/** One item of `input`, of a kind that we read or that is passed over. */
export type InputItem = z.infer<typeof inputItem>

/** Items of tools that a provider ran itself, and of reasoning: of no use to another model, and no error either. */
const ignored =
  /^(reasoning|(web_search|file_search|code_interpreter|image_generation)_call|mcp_[a-z_]+)$/
const callTypes = new Set(['function_call', 'custom_tool_call'])

/** An item behind the others that asks for a compaction of them instead of an answer. */
export const compactionTrigger = 'compaction_trigger'

/** The message behind an item reference, if the item is ours. */
export type ResolveItem = (id: string) => Said | undefined

/**
 * Throws `request_invalid` naming the item of the field.
 */
export function toSaidItems(
  items: readonly InputItem[],
  field: 'input' | 'items',
  resolve: ResolveItem,
): readonly Said[] {
  const tools = new Map(
    items.flatMap(({ type, call_id: id, name }) =>
      callTypes.has(type ?? '') && id && name ? [[id, name] as const] : [],
    ),
  )
  return items.flatMap((item, index) => toSaid(item, `${field}[${index}]`, { resolve, tools }))
}

/**
 * A compaction of ours replaces all items before it: of those only instructions are still read, and user messages
 * that it does not contain. Images are compared by their bytes, whatever address they came from.
 */
export function sinceCompaction(said: readonly Said[]): readonly Said[] {
  const last = said.findLastIndex(({ kind }) => kind === 'compacted')
  const compacted = said[last]
  if (compacted?.kind !== 'compacted') return said
  const known = new Set(
    compacted.messages.flatMap((one) => (one.role === 'user' ? [keyOf(one)] : [])),
  )
  const isNew = (one: Said) =>
    one.kind === 'instructions' || (one.kind === 'user' && !known.has(keyOf(one)))
  return said.filter((one, index) => index >= last || isNew(one))
}

const keyOf = ({
  text,
  name = '',
  images = [],
}: {
  readonly text: string
  readonly name?: string
  readonly images?: readonly MessageImage[]
}): string => JSON.stringify([name, text, ...images.map(({ url }) => url)])

/** The runs that item references point into. */
export function referencedRuns(items: readonly InputItem[]): readonly WirePlace[] {
  const places = items.flatMap((item) =>
    item.type === 'item_reference' ? (parseItemId(item.id ?? '') ?? []) : [],
  )
  return [...new Map(places.map((place) => [place.run, place])).values()]
}

/** The context in which an item is read. */
interface Around {
  readonly resolve: ResolveItem
  /** Names of the functions that were called, by the ids of the calls. */
  readonly tools: ReadonlyMap<string, string>
}

function toSaid(item: InputItem, at: string, { resolve, tools }: Around): readonly Said[] {
  const { type, role } = item
  if (role && (type ?? 'message') === 'message') return [toMessage(item, role, at)]
  switch (type) {
    case 'function_call':
      return [toCall(item, at)]
    case 'custom_tool_call':
      return [toCustomCall(item, at)]
    case 'custom_tool_call_output':
    case 'function_call_output':
      return toOutput(item, at, tools)
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

/** A custom tool takes a text, which becomes an argument here. */
function toCustomCall(item: InputItem, at: string): Said {
  const { input } = item
  if (typeof input !== 'string') throw invalid(`${at}.input`, 'is required')
  return toCall({ ...item, arguments: JSON.stringify({ input }) }, at)
}

function toOutput(item: InputItem, at: string, tools: Around['tools']): readonly Said[] {
  const { call_id: callId, output } = item
  if (!callId) throw invalid(`${at}.call_id`, 'is required')
  if (output === undefined) throw invalid(`${at}.output`, 'is required')
  const parts = toParts(output ?? '', `${at}.output`)
  return toSaidOutput(callId, tools.get(callId), parts, { at, partsAt: at })
}

function toCall(item: InputItem, at: string): Said {
  const { call_id: callId, name, namespace, arguments: given } = item
  if (!callId) throw invalid(`${at}.call_id`, 'is required')
  if (!name) throw invalid(`${at}.name`, 'is required')
  if (name.length > 64) throw invalid(`${at}.name`, 'must be at most 64 characters')
  if (typeof given !== 'string') throw invalid(`${at}.arguments`, 'is required')
  const full = namespace ? `${namespace}__${name}` : name
  return { kind: 'call', callId, name: full, arguments: given, at }
}

/** Another provider's compaction cannot be read here. */
function toCompacted({ encrypted_content: content }: InputItem, at: string): Said[] {
  const messages = fromContent(content ?? '', `${at}.encrypted_content`)
  return messages ? [{ kind: 'compacted', messages, at }] : []
}

function toMessage(item: InputItem, role: NonNullable<InputItem['role']>, at: string): Said {
  const { name, content: given } = item
  // A message that only made calls has none.
  const said = given ?? (role === 'assistant' ? '' : undefined)
  if (said === undefined) throw invalid(`${at}.content`, 'is required')
  if (said.length === 0 && typeof said !== 'string' && role !== 'assistant')
    throw invalid(`${at}.content`, 'is empty')
  return toSaidMessage(role, toParts(said, `${at}.content`), { at, name })
}

const textTypes = new Set(['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text'])

function toParts(given: NonNullable<InputItem['content']>, at: string): readonly SaidPart[] {
  if (typeof given === 'string') return [{ part: { type: 'text', text: given }, at }]
  return given.map(({ type, text, refusal, image_url: url, detail }, index) => {
    const place = `${at}[${index}]`
    const said = textTypes.has(type) ? text : type === 'refusal' ? refusal : undefined
    if (typeof said === 'string') return { part: { type: 'text', text: said }, at: place }
    if (type === 'input_image' && url) {
      const part = { type: 'image', url, ...(detail && { detail }) } as const
      return { part, at: `${place}.image_url` }
    }
    throw invalid(`${place}.type`, `${type} is not taken here: send text or an image by URL`)
  })
}

const maxRuns = 32

/** Reads the runs that items are referred to in: a client may name what we keep instead of sending it. */
export async function resolveItems(
  deps: OpenaiDeps,
  principal: string,
  places: readonly WirePlace[],
): Promise<ResolveItem> {
  const items = new Map<string, Said>()
  await Promise.all(
    places.slice(0, maxRuns).map(async (place) => {
      for (const [id, said] of await itemsOf(deps, principal, place)) items.set(id, said)
    }),
  )
  return (id) => items.get(id)
}

/** All of a run's items, whatever response they were a part of. */
async function itemsOf(
  deps: OpenaiDeps,
  principal: string,
  place: WirePlace,
): Promise<readonly (readonly [string, Said])[]> {
  const log = await deps.entry.readLog(principal, place)
  const found: (readonly [string, Said])[] = []
  // The label of everything that was read for it; least trusted while the run is not over.
  const ended = log.find((one) => one.type === 'run_finished' && one.run === place.run)
  const label = joinLabels([ended?.type === 'run_finished' ? ended.data.result?.label : undefined])
  for (let turn: number | undefined = 0; turn !== undefined;) {
    const { changes } = foldResponse(log, { ...place, turn })
    turn = undefined
    for (const change of changes) {
      if (change.type === 'message') {
        const id = toMessageId(place, change.turn)
        const said = { kind: 'assistant', text: change.text, label, at: 'input' } as const
        found.push([id, said])
      }
      if (change.type === 'calls') {
        for (const { call, tool, input } of change.calls) {
          const callId = toCallId(place, call)
          const said = {
            kind: 'call',
            callId,
            name: tool,
            arguments: JSON.stringify(input),
          } as const
          found.push([toFunctionCallId(place, call), { ...said, at: 'input' }])
        }
        turn = change.turn
      }
    }
  }
  return found
}
