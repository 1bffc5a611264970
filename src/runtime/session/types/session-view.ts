import type { FloorView } from './floor.ts'
import type { JsonObject, Json } from '#contracts/json.ts'
import type { Usage } from '#contracts/lease.ts'
import type { Message, MessageImage } from '#contracts/message.ts'
import type { SharedFrom } from '#contracts/manifest/agent-manifest.ts'
import type { AgentResult, RunState } from '#contracts/agent.ts'
import type { CompactionReport } from '#contracts/context.ts'
import type { BegunBy, ResponsePlace } from './submission.ts'
import type { Pause } from '#runtime/kernel/types/pause.ts'

/** A message as clients read it, without fields that only a model service reads. */
export function withoutOpaque(message: Message): Message {
  if (message.role !== 'assistant' || !message.toolCalls?.some(({ opaque }) => opaque))
    return message
  const toolCalls = message.toolCalls.map(({ id, name, input }) => ({ id, name, input }))
  return { ...message, toolCalls }
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

/** The outcome of a run that only compacts. */
export interface CompactionOutcome {
  readonly result: AgentResult
  readonly createdAtMs: number
  /** Absent if nothing could leave. */
  readonly report?: CompactionReport
  /** For a client that stores its own transcript: the messages that replace it. */
  readonly messages?: readonly Message[]
}

/** The outcome that a waiting caller gets: the run's result, or that it is parked. */
export type RunOutcome = AgentResult | ParkedView

export interface ParkedView {
  readonly id: string
  readonly sessionId: string
  readonly agent: string
  readonly trace: string
  readonly state: 'parked'
  readonly pauses: readonly PauseView[]
}

/** A waiting call as clients see it. */
export interface PauseView extends Omit<Pause, 'changes' | 'limits'> {
  /** The hash of the call's current questions, if it has `asks`: an answer names the hash that it answers. */
  readonly asksHash?: string
  /** Of a call that needs an approval: the spending of its run so far. */
  readonly spent?: { readonly tokens: number; readonly costNanoUsd: number }
  /** Epoch milliseconds; absent if it does not expire. */
  readonly expiresAtMs?: number
}

export interface RunView {
  readonly id: string
  readonly session: string
  readonly agent: string
  readonly state: RunState
  readonly createdAtMs: number
  /** Absent if a request began the run. */
  readonly begunBy?: BegunBy
  readonly result?: AgentResult
  /** The waiting calls, while it is parked. */
  readonly pauses?: readonly PauseView[]
}

/** Data that a surface stores with a run. */
export interface RunMemo {
  readonly createdAtMs: number
  readonly state: RunState
  readonly isHidden: boolean
  /** The `echo` of each response's request, by the turn after which the response begins. */
  readonly echoes: Readonly<Record<string, JsonObject>>
}

/** A session's identity. */
export interface SessionAbout {
  readonly id: string
  /** Empty until the first run names it. */
  readonly agent: string
  readonly principal: string
  readonly createdAtMs: number
  /** The metadata of a conversation, as its client set it. */
  readonly metadata?: JsonObject
  /** The session's persona, for a request that names none. */
  readonly persona?: string
}

/** A session that is about to be deleted, with everything in it. */
export interface EndedSession {
  readonly session: string
  readonly rootSession: string
  readonly shared?: SharedFrom | undefined
  readonly principal: string
  /** Empty if the session never had a run. */
  readonly agent: string
}

/** A page of a session's runs: the last ones. */
export interface TreeQuery {
  /** The last ones before this run: `earlier` of another page. */
  readonly before?: string
  /** At most so many, 100 if absent; fewer if their results are long, but at least one. */
  readonly limit?: number
  /** Instead of runs, their children from this session on: `moreChildren` of another page, with its `before`. */
  readonly fromChild?: string
  /** At most about so many characters, 1,000,000 if absent; but at least one run. */
  readonly maxChars?: number
}

/** A session with what hangs below it, usage and cost per agent. */
export interface SessionTree extends SessionAbout {
  readonly trace?: string
  readonly parent?: { readonly session: string; readonly run: string; readonly call: string }
  /** In accept order: all of them, or the last ones. */
  readonly runs: readonly RunView[]
  /** The first of `runs`, if there are earlier ones: `before` of the next page. */
  readonly earlier?: string
  /** The usage of all this session's runs, with everything below them. */
  readonly usage: Usage
  /** The handoff in force, or the last one. */
  readonly floor?: FloorView
  readonly costEstimateUsd: number
  /** The children of `runs` in the order of their calls, each with its last runs: as many as fit the page. */
  readonly children: readonly SessionTree[]
  /** The first child that did not fit: `fromChild` of the next page. */
  readonly moreChildren?: string
}

export interface TranscriptQuery {
  /** The messages after this run: `next` of another page. From the beginning if absent. */
  readonly after?: string
}

/** A stretch of the transcript, at most about 1,000,000 characters, one run at least. */
export interface TranscriptPage {
  readonly messages: readonly Message[]
  /** The last run of the page, if there is more behind it. */
  readonly next?: string
}
