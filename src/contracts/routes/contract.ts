import type * as z from 'zod'

/** What a route answers with one status. */
export type ApiReply = {
  /** In a few words. */
  readonly is: string
  /** Headers that it has, by the names of `replyHeaders`. */
  readonly headers?: readonly (keyof typeof replyHeaders)[]
} & {
  /** Server-sent events, where it can be those. */
  readonly events?: string
  /** Text of another kind, by its media type. */
  readonly text?: string
  /** JSON of this shape; none if absent. */
  readonly json?: z.ZodType
}

/** What a route takes and what it answers, for those who call it. Errors have one shape, whatever the route. */
export interface ApiContract {
  readonly summary: string
  /** What a part of the path is, by its name. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: z.ZodObject
  readonly headers?: readonly (keyof typeof requestHeaders)[]
  readonly body?: z.ZodType
  /** No body is the same as an empty one. */
  readonly isBodyOptional?: true
  /** A body of another kind, by its media type. */
  readonly otherBody?: string
  readonly replies: Readonly<Record<number, ApiReply>>
  /** Statuses of its errors beyond those that every route has. */
  readonly errors?: readonly number[]
}

/** Contracts by method and path, as the table of routes has it. */
export type ApiContracts = Readonly<Record<string, ApiContract>>

/** Headers that a request may have. */
export const requestHeaders = {
  'idempotency-key':
    '1 to 255 printable ASCII characters. The same key and body are answered alike; another body is 422.',
  traceparent: 'W3C trace context; its trace id becomes the run’s.',
  'x-isola-session':
    '1 to 200 printable ASCII characters: a name of your choice, or a session id that must exist.',
  'x-isola-persona':
    'What the orchestrator speaks as in this run, instead of the persona of the session or key; `none`: as itself.',
  'last-event-id': 'Where to go on: the last id that was seen. It wins over `cursor`.',
} as const

/** Headers that a reply may have. */
export const replyHeaders = {
  location: 'Where it is.',
  'idempotent-replayed': '`true` where the run was there already under this key.',
  'x-should-retry':
    '`false` with every error once a run has begun: the same request again would be a second run.',
  'x-isola-session': 'The session.',
  'x-isola-run': 'The run.',
  'x-isola-trace': 'The trace.',
} as const
