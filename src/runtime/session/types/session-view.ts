import type { FloorView } from './floor.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Usage } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { RunView } from './run-view.ts'
import type { SharedFrom } from '#contracts/shared-parts.ts'

/** What identifies a session. */
export interface SessionAbout {
  readonly id: string
  /** Empty until the first run says which. */
  readonly agent: string
  readonly principal: string
  readonly createdAtMs: number
  /** Of a conversation, as its client set it. */
  readonly metadata?: JsonObject
  /** What the orchestrator speaks as in it, where a request does not say. */
  readonly persona?: string
}

/** A session that is about to be forgotten, with everything in it. */
export interface EndedSession {
  readonly session: string
  readonly rootSession: string
  readonly shared?: SharedFrom | undefined
  readonly principal: string
  /** Empty if nothing was ever said in it. */
  readonly agent: string
}

/** Which runs of a session are asked for: the last ones. */
export interface TreeQuery {
  /** The last ones before this run: `earlier` of another page. */
  readonly before?: string
  /** At most so many, 100 if absent; fewer if what they came to is long, but one at least. */
  readonly limit?: number
  /** Instead of runs, their children from this session on: `moreChildren` of another page, with its `before`. */
  readonly fromChild?: string
  /** At most about so many characters, 1,000,000 if absent; but one run. */
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
  /** All this session's runs with everything below them. */
  readonly usage: Usage
  /** Who has the conversation, or had it last. */
  readonly floor?: FloorView
  readonly costEstimateUsd: number
  /** What `runs` started, in the order in which it was asked for, each with its last runs: as much as fits a page. */
  readonly children: readonly SessionTree[]
  /** The first of those that did not fit: `fromChild` of the next page. */
  readonly moreChildren?: string
}

export interface TranscriptQuery {
  /** What was said behind this run: `next` of another page. From the beginning if absent. */
  readonly after?: string
}

/** A stretch of what was said, at most about 1,000,000 characters, one run at least. */
export interface TranscriptPage {
  readonly messages: readonly Message[]
  /** The last run of the page, if there is more behind it. */
  readonly next?: string
}
