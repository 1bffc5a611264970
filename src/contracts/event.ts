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
  | 'capability_refused'
  | 'hook_called'
  | 'isolate_started'
  | 'call_denied'

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

/** Every kind of thing that happens to the deployment and is of no session. */
export type DeploymentEventType =
  | 'key_added'
  | 'key_rotated'
  | 'key_revoked'
  | 'principal_changed'
  | 'login_failed'
  | 'oauth_client_registered'
  | 'oauth_granted'
  | 'oauth_refused'
  | 'oauth_revoked'
  | 'trust_added'
  | 'trust_removed'
  | 'plugin_added'
  | 'plugin_granted'
  | 'plugin_revoked'
  | 'plugin_enabled'
  | 'plugin_disabled'
  | 'plugin_rolled_back'
  | 'plugin_removed'
  | 'plugin_refused'
  | 'plugin_tripped'
  | 'generation_restored'
  | 'policy_changed'
  | 'mcp_added'
  | 'mcp_approved'
  | 'mcp_enabled'
  | 'mcp_disabled'
  | 'mcp_removed'
  | 'mcp_quarantined'
  | 'mcp_signed_in'
  | 'mcp_sign_in_refused'
  | 'exposure_changed'
  | 'secret_set'
  | 'secret_removed'
  | 'secrets_rotated'
  | 'run_cancelled'
  | 'call_decided'
  | 'session_deleted'
  | 'hook_called'

/** Something an operator did, or somebody tried. `data` is JSON and holds no secret. */
export interface DeploymentEvent {
  readonly type: DeploymentEventType
  /** Who did it; empty if that is not known. */
  readonly principal: string
  /** Of the request in which it happened; empty if it has none. */
  readonly trace: string
  readonly atMs: number
  readonly data: JsonObject
}

/** Where the deployment's own events go. Throws `request_unavailable`. */
export interface DeploymentLog {
  readonly append: (event: DeploymentEvent) => Promise<void>
}

/**
 * One row of the audit log: an event with who it was for. The deployment's own events are a log as well, that of no
 * session: `session`, `run` and `agent` are empty, `seq` counts without gaps.
 */
export interface AuditRecord extends Omit<SessionEvent, 'type'> {
  readonly type: EventType | DeploymentEventType
  readonly session: string
  readonly principal: string
}
