import type { AgentResult } from '#contracts/agent.ts'
import { toOutgoingError } from '../../errors.ts'
import { brokenOff, type StreamView } from '../../event-stream.ts'
import { contentOf, faultOf } from '../chat-response.ts'
import { type Change, type ClientCall, createFold } from '../fold.ts'
import {
  functionCallItem,
  messageItem,
  type ResponseBody,
  type ResponseHead,
  textPart,
  toResource,
} from './resource.ts'

export interface ResponseViewOptions {
  readonly head: ResponseHead
  readonly requestId: string
  readonly onFault: (error: unknown) => void
  /** Only what comes after this `sequence_number`. */
  readonly after?: number
}

export interface ResponseView extends StreamView {
  /** The response by now. */
  readonly resource: () => ReturnType<typeof toResource>
}

/**
 * `sequence_number` says where in the response an event is, not how many came before: pieces of text are not stored,
 * and a reader that comes back gets the rest of a message in other pieces. Per turn: item and part added, each
 * character of the text, then what is done, then the calls.
 */
const turnSpan = 4_000_000
const itemAdded = 0
const partAdded = 1
const textBegins = 2
const textDone = 3_000_000
const partDone = 3_000_001
const itemDone = 3_000_002
const callsBegin = 3_000_010
const callSpan = 4

/** Shows a run as the events of a response, each family in its order; never our own tools. */
export function createResponseView(options: ResponseViewOptions): ResponseView {
  const { head, after = -1, requestId } = options
  const { place } = head
  const fold = createFold(place)
  const output: object[] = []
  let open: { readonly turn: number; text: string } | undefined
  let lastTurn = place.turn
  let body: ResponseBody = { status: 'in_progress' }
  let isComplete = false

  const emit = (type: string, number: number, fields: object): string =>
    number <= after
      ? ''
      : `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...fields })}\n\n`
  const at = (turn: number, offset: number) => turn * turnSpan + offset
  const resource = () => toResource(head, { ...body, output })

  const begin = (turn: number): string => {
    open = { turn, text: '' }
    lastTurn = turn
    const item = messageItem(place, { turn, status: 'in_progress' })
    const output_index = output.length
    const part = { item_id: item.id, output_index, content_index: 0, part: textPart('') }
    return (
      emit('response.output_item.added', at(turn, itemAdded), { output_index, item }) +
      emit('response.content_part.added', at(turn, partAdded), part)
    )
  }
  const say = (turn: number, text: string): string => {
    const opening = open?.turn === turn ? '' : begin(turn)
    const before = open!.text.length
    open!.text += text
    const end = at(turn, textBegins + before + text.length)
    // Of a piece that the reader has the beginning of, the rest.
    const known = Math.min(text.length, Math.max(0, after - at(turn, textBegins + before)))
    return (
      opening +
      emit('response.output_text.delta', end, {
        ...part(turn),
        delta: text.slice(known),
        logprobs: [],
      })
    )
  }
  const part = (turn: number) => ({
    item_id: messageItem(place, { turn, status: '' }).id,
    output_index: output.length,
    content_index: 0,
  })
  const finishMessage = (turn: number, text: string): string => {
    const opening = open?.turn === turn ? '' : begin(turn)
    const where = part(turn)
    const item = messageItem(place, { turn, text, status: 'completed' })
    const { output_index } = where
    output.push(item)
    open = undefined
    return (
      opening +
      emit('response.output_text.done', at(turn, textDone), { ...where, text, logprobs: [] }) +
      emit('response.content_part.done', at(turn, partDone), { ...where, part: textPart(text) }) +
      emit('response.output_item.done', at(turn, itemDone), { output_index, item })
    )
  }
  const callOut = (turn: number, call: ClientCall, index: number): string => {
    const number = at(turn, callsBegin + callSpan * index)
    const output_index = output.length
    const item = functionCallItem(head, call, 'completed')
    output.push(item)
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
  }
  const end = (type: string, last: ResponseBody): string => {
    body = last
    isComplete = true
    return `${emit(type, at(lastTurn + 2, 0) - 1, { response: resource() })}data: [DONE]\n\n`
  }
  const complete = (atMs: number): string =>
    end('response.completed', {
      status: 'completed',
      completedAtMs: atMs,
      tokens: fold.tokens(),
    })

  const finish = (result: AgentResult, atMs: number): string => {
    const text = contentOf(result)
    const isSaid = text === '' || output.some((item) => textOf(item) === text.trimEnd())
    const rest = isSaid ? '' : say(lastTurn + 1, text) + finishMessage(lastTurn, text)
    return rest + endOf(result, atMs)
  }
  const endOf = (result: AgentResult, atMs: number): string => {
    const tokens = fold.tokens()
    switch (result.state) {
      case 'failed': {
        const { body: outgoing } = toOutgoingError(faultOf(result), place.run)
        const { code, message } = outgoing.error
        return end('response.failed', { status: 'failed', error: { code, message }, tokens })
      }
      case 'cancelled':
        return end('response.incomplete', { status: 'cancelled', tokens })
      case 'stopped':
        return end('response.incomplete', {
          status: 'incomplete',
          incompleteReason: result.error?.code ?? 'max_output_tokens',
          tokens,
        })
      case 'completed': {
        const { finishReason } = result
        if (finishReason === undefined) return complete(atMs)
        const incompleteReason = finishReason === 'length' ? 'max_output_tokens' : finishReason
        return end('response.incomplete', { status: 'incomplete', incompleteReason, tokens })
      }
    }
  }

  const show = (change: Change): string => {
    switch (change.type) {
      case 'text':
        return say(change.turn, change.text)
      case 'message':
        return finishMessage(change.turn, change.text)
      case 'calls': {
        lastTurn = change.turn
        const calls = change.calls.map((call, index) => callOut(change.turn, call, index))
        return calls.join('') + complete(change.atMs)
      }
      case 'end':
        return finish(change.result, change.atMs)
    }
  }
  const fail = (error: unknown): string => {
    isComplete = true
    const outgoing = toOutgoingError(error, requestId)
    if (outgoing.status >= 500) options.onFault(error)
    const fields = outgoing.body.error
    const number = at(lastTurn + 2, 0) - 1
    // Flat as OpenAI has it, and within as the specification has it.
    return emit('error', number, { ...fields, type: 'error', error: fields })
  }

  return {
    resource,
    opening:
      emit('response.created', 0, { response: resource() }) +
      emit('response.in_progress', 1, { response: resource() }),
    show: (item) => fold.apply(item).map(show).join(''),
    isComplete: () => isComplete,
    close: () => (isComplete ? '' : fail(brokenOff())),
    fail,
  }
}

function textOf(item: object): string | undefined {
  if (!('content' in item) || !Array.isArray(item.content)) return undefined
  const [first] = item.content as readonly { readonly text?: string }[]
  return first?.text?.trimEnd()
}
