import type { Json, JsonObject } from '#contracts/json.ts'
import type { MessageImage } from '#contracts/message.ts'

/**
 * A stretch of a run that a client got as one response: it begins after a turn (0: with the run) and ends where the
 * run waits for the client, or is over.
 */
export interface ResponsePlace {
  readonly run: string
  readonly turn: number
}

/**
 * One item of a conversation, as its client knows it. `run` and `key` name it for good; an output has the key of its
 * call, if that call is ours.
 */
export type SaidItem = {
  /** Absent for items before the first run. */
  readonly run?: string
  readonly key: string
  /** The turn of the model's text or call. Of a message to the model: the turn before it. */
  readonly turn: number
} & (
  | {
      readonly type: 'message'
      readonly role: 'user' | 'assistant'
      readonly text: string
      readonly images?: readonly MessageImage[]
      readonly name?: string
    }
  | {
      readonly type: 'call'
      readonly call: string
      /** The run that made the call; absent for a call that the client brought. */
      readonly callsOf?: string
      readonly name: string
      readonly input: JsonObject
    }
  | {
      readonly type: 'output'
      readonly call: string
      readonly callsOf?: string
      readonly output: Json
    }
)

/** Names one `SaidItem`. */
export type ItemPlace = Pick<SaidItem, 'type' | 'run' | 'key'>

export interface ItemsQuery {
  /** Only the input items of this response; absent: all items. */
  readonly inputsOf?: ResponsePlace
  /** The one item, or none. */
  readonly only?: ItemPlace
  /** The items after it, in the requested order. Throws `request_invalid` if it is not among the items. */
  readonly after?: ItemPlace
  readonly order: 'asc' | 'desc'
  /** At most so many; fewer if they are long, but at least one. */
  readonly limit: number
}

export interface ItemsPage {
  readonly items: readonly SaidItem[]
  readonly hasMore: boolean
}
