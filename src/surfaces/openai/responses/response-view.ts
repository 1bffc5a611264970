import { defined } from '#contracts/defined.ts'
import type { AgentResult } from '#contracts/agent.ts'
import { toOutgoingError } from '#platform/routes/errors.ts'
import { faultOf, howToGoOn } from '../chat-response.ts'
import { type TokenCount, type Change, createFold } from '../fold.ts'
import { type ResponseBody, type ResponseHead, toResource } from './resource.ts'
import { brokenOff, type StreamView } from '#platform/routes/event-stream.ts'
import { createOutputStream, createEmit, numberOfEnd } from './output-stream.ts'

/** The last event of a response, and how the response stands with it. */
interface ResponseEnd {
  readonly type: 'response.completed' | 'response.incomplete' | 'response.failed'
  readonly body: ResponseBody
}

/** The end of a response that came to one: its run completed, or the client has calls to make. */
const completed = (atMs: number, tokens: TokenCount): ResponseEnd => ({
  type: 'response.completed',
  body: { status: 'completed', completedAtMs: atMs, tokens },
})

/** The end of a response that could not be completed, and why. */
const incomplete = (
  tokens: TokenCount,
  { code, message }: { readonly code: string; readonly message?: string },
): ResponseEnd => ({
  type: 'response.incomplete',
  body: {
    status: 'incomplete',
    incompleteReason: code,
    ...defined({ incompleteMessage: message }),
    tokens,
  },
})

/** How a run's result ends its response; `run` goes into what is said of a fault. */
function toResponseEnd(
  result: AgentResult,
  {
    run,
    atMs,
    tokens,
  }: { readonly run: string; readonly atMs: number; readonly tokens: TokenCount },
): ResponseEnd {
  switch (result.state) {
    case 'failed': {
      const { code, message } = toOutgoingError(faultOf(result), run).body.error
      return {
        type: 'response.failed',
        body: { status: 'failed', error: { code, message }, tokens },
      }
    }
    case 'cancelled':
      return { type: 'response.incomplete', body: { status: 'cancelled', tokens } }
    case 'stopped':
      return incomplete(tokens, result.error ?? { code: 'max_output_tokens' })
    case 'completed': {
      const { finishReason } = result
      if (finishReason === undefined) return completed(atMs, tokens)
      const code = finishReason === 'length' ? 'max_output_tokens' : finishReason
      return incomplete(tokens, { code })
    }
  }
}

/** Whose response it is, and from where on it is shown. */
export interface ResponseViewOptions {
  readonly head: ResponseHead
  readonly requestId: string
  readonly onFault: (error: unknown) => void
  /** Only what comes after this `sequence_number`. */
  readonly after?: number
}

/** A run's events as those of a response, and the response itself. */
export interface ResponseView extends StreamView {
  /** The response by now. */
  readonly resource: () => ReturnType<typeof toResource>
}

/** Shows a run as the events of a response, each family in its order; never our own tools. */
export function createResponseView(options: ResponseViewOptions): ResponseView {
  const { head, after = -1, requestId } = options
  const { place } = head
  const fold = createFold(place)
  const emit = createEmit(after)
  const output = createOutputStream(head, emit, after)
  let lastTurn = place.turn
  let body: ResponseBody = { status: 'in_progress' }
  let isComplete = false
  let fault: Error | undefined
  /** The limit that the run waits for, if no event came after it: a principal may raise it. */
  let limit: Extract<Change, { readonly type: 'limit' }> | undefined

  const resource = () => {
    const asked = String(head.echo['model'] ?? '')
    const model = fold.insteadOf(asked)
    const echo = model === undefined ? head.echo : { ...head.echo, model }
    return toResource({ ...head, echo }, { ...body, output: output.items })
  }

  const end = (last: ResponseEnd): string => {
    body = last.body
    isComplete = true
    return `${emit(last.type, numberOfEnd(lastTurn), { response: resource() })}data: [DONE]\n\n`
  }
  const show = (change: Change): string => {
    switch (change.type) {
      case 'text':
        lastTurn = change.turn
        return output.say(change.turn, change.text)
      case 'message':
        lastTurn = change.turn
        return output.finishMessage(change.turn, change.text)
      case 'calls': {
        lastTurn = change.turn
        const calls = change.calls.map((call, index) => output.callOut(change.turn, call, index))
        return calls.join('') + end(completed(change.atMs, fold.tokens()))
      }
      case 'limit': {
        lastTurn = change.turn
        limit = change
        return ''
      }
      case 'end': {
        const { atMs } = change
        fault = faultOf(change.result)
        const last = toResponseEnd(change.result, { run: place.run, atMs, tokens: fold.tokens() })
        return end(last)
      }
    }
  }
  /**
   * Ends the stream at a limit. A background response is read when it is over; every other response ends as
   * incomplete, until a principal raises the limit.
   */
  const endAtLimit = (at: NonNullable<typeof limit>): string => {
    if (head.echo['background'] === true) return 'data: [DONE]\n\n'
    const message = `${at.message} ${howToGoOn(place, at)}`
    return end(incomplete(fold.tokens(), { code: at.code, message }))
  }
  const fail = (error: unknown): string => {
    isComplete = true
    const outgoing = toOutgoingError(error, requestId)
    if (outgoing.status >= 500) options.onFault(error)
    const fields = outgoing.body.error
    // Flat as OpenAI has it, and within as the specification has it.
    return emit('error', numberOfEnd(lastTurn), { ...fields, type: 'error', error: fields })
  }

  return {
    resource,
    opening:
      emit('response.created', 0, { response: resource() }) +
      emit('response.in_progress', 1, { response: resource() }),
    show(item) {
      limit = undefined // it waits no more
      return fold.apply(item).map(show).join('')
    },
    isComplete: () => isComplete,
    fault: () => (output.items.length === 0 ? fault : undefined),
    close() {
      if (isComplete) return ''
      return limit ? endAtLimit(limit) : fail(brokenOff())
    },
    fail,
  }
}
