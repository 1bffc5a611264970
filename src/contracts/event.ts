import type { JsonObject } from './json.ts'

/** Every kind of thing that can happen, as `noun_verb`. The stream, the audit log, traces and the console are views of these. */
export type EventType =
  | 'run_started'
  | 'run_resumed'
  | 'run_parked'
  | 'run_steered'
  | 'pause_answered'
  | 'run_finished'
  | 'message_finished'
  | 'model_called'
  | 'model_failed'
  | 'model_substituted'
  | 'tool_started'
  | 'tool_finished'
  | 'agent_invoked'
  | 'agent_result'
  | 'agent_error'
  | 'lease_refused'
  | 'lease_overdrawn'
  | 'tool_log'
  | 'tool_progress'
  | 'network_requested'

/** An event before it has its place in the log. `data` is JSON and holds no secret. */
export interface EventDraft {
  readonly type: EventType
  readonly data: JsonObject
}

/** One entry of a session's log. `seq` counts from 1 without gaps; the SSE id is `<run>:<seq>`. */
export interface SessionEvent extends EventDraft {
  readonly seq: number
  readonly run: string
  readonly agent: string
  readonly trace: string
  /** Epoch milliseconds. */
  readonly atMs: number
}

/** What a live reader sees besides the log: pieces of a message that is not finished. They have no id and are never stored. */
export interface MessageDelta {
  readonly type: 'message_delta'
  readonly run: string
  readonly turn: number
  /** Characters of this message before `text`: a late reader can tell what it missed. */
  readonly offset: number
  readonly text: string
}

export type StreamItem = SessionEvent | MessageDelta

/** One row of the audit log: an event with who it was for. */
export interface AuditRecord extends SessionEvent {
  readonly session: string
  readonly principal: string
}
