import type { ClientCall } from '../fold.ts'
import { functionCallItem, messageItem, type ResponseHead, textPart } from './resource.ts'

/**
 * `sequence_number` says where in the response an event is, not how many came before: pieces of text are not stored,
 * and a reader that comes back gets the rest of a message in other pieces. Per turn: item and part added, each
 * character of the text, then what is done, then the calls.
 */
const turnSpan = 4_000_000
const callSpan = 4

/** Where in its turn an event of a message stands. */
const offsets = {
  itemAdded: 0,
  partAdded: 1,
  textBegins: 2,
  textDone: 3_000_000,
  partDone: 3_000_001,
  itemDone: 3_000_002,
} as const
const callsBegin = 3_000_010

/** The `sequence_number` of an event of a message. */
const numberAt = (turn: number, offset: number): number => turn * turnSpan + offset

/** That of the first event of a call; a call has four. */
const numberOfCall = (turn: number, index: number): number =>
  numberAt(turn, callsBegin + callSpan * index)

/** That of the event that ends a response whose last turn this is. */
export const numberOfEnd = (lastTurn: number): number => numberAt(lastTurn + 2, 0) - 1

/** An event as text, or nothing if the reader has it already. */
type Emit = (type: string, number: number, fields: object) => string

/** Writes the events after a `sequence_number`. */
export const createEmit =
  (after: number): Emit =>
  (type, number, fields) =>
    number <= after
      ? ''
      : `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...fields })}\n\n`

/**
 * Writes the items of a response as they come, each family of events in its order, and stores them whole. Text comes
 * in pieces; the part of the first piece that the reader already has (`after`) is left out.
 */
export function createOutputStream(head: ResponseHead, emit: Emit, after: number) {
  const { place } = head
  const items: object[] = []
  let open: { readonly turn: number; text: string } | undefined

  const part = (turn: number) => ({
    item_id: messageItem(place, { turn, status: '' }).id,
    output_index: items.length,
    content_index: 0,
  })
  const begin = (turn: number): string => {
    open = { turn, text: '' }
    const item = messageItem(place, { turn, status: 'in_progress' })
    const where = part(turn)
    const { output_index } = where
    return (
      emit('response.output_item.added', numberAt(turn, offsets.itemAdded), {
        output_index,
        item,
      }) +
      emit('response.content_part.added', numberAt(turn, offsets.partAdded), {
        ...where,
        part: textPart(''),
      })
    )
  }

  return {
    items: items as readonly object[],
    /** A piece of a message. */
    say(turn: number, text: string): string {
      const opening = open?.turn === turn ? '' : begin(turn)
      const before = open!.text.length
      open!.text += text
      const start = numberAt(turn, offsets.textBegins + before)
      // The rest of a piece whose beginning the reader has.
      const known = Math.min(text.length, Math.max(0, after - start))
      return (
        opening +
        emit('response.output_text.delta', start + text.length, {
          ...part(turn),
          delta: text.slice(known),
          logprobs: [],
        })
      )
    },
    /** The end of a message, with all of its text. */
    finishMessage(turn: number, text: string): string {
      const opening = open?.turn === turn ? '' : begin(turn)
      const where = part(turn)
      const item = messageItem(place, { turn, text, status: 'completed' })
      const { output_index } = where
      items.push(item)
      open = undefined
      return (
        opening +
        emit('response.output_text.done', numberAt(turn, offsets.textDone), {
          ...where,
          text,
          logprobs: [],
        }) +
        emit('response.content_part.done', numberAt(turn, offsets.partDone), {
          ...where,
          part: textPart(text),
        }) +
        emit('response.output_item.done', numberAt(turn, offsets.itemDone), { output_index, item })
      )
    },
    /** A call for the client, whole: the pieces of its arguments are not shown. */
    callOut(turn: number, call: ClientCall, index: number): string {
      const number = numberOfCall(turn, index)
      const output_index = items.length
      const item = functionCallItem(head, call, 'completed')
      items.push(item)
      const where = { item_id: item.id, output_index }
      const text = item.arguments
      const added = functionCallItem(head, call, 'in_progress')
      return (
        emit('response.output_item.added', number, { output_index, item: added }) +
        emit('response.function_call_arguments.delta', number + 1, { ...where, delta: text }) +
        emit('response.function_call_arguments.done', number + 2, {
          ...where,
          name: item.name,
          arguments: text,
        }) +
        emit('response.output_item.done', number + 3, { output_index, item })
      )
    },
  }
}
