import type { FloorView } from './floor.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Usage } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { RunView } from './run-view.ts'
import type { SharedFrom } from '#contracts/manifest/agent-manifest.ts'

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
