import type { SessionEvent } from '#contracts/event.ts'

/** A request to a model, however it ended. */
export type ModelRequestEvent = SessionEvent<'model_called' | 'model_failed'>

/** A `double` stays one when it is whole. */
export type AttributeValue =
  | string
  | number
  | boolean
  | readonly string[]
  | { readonly double: number }

/** What is `undefined` is left out. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>

/** One span, in OpenTelemetry's words but for units. */
export interface Span {
  readonly id: string
  readonly parent?: string | undefined
  /** The parent is in another service. */
  readonly isParentRemote?: boolean
  readonly name: string
  /** `client`: the work is done elsewhere. */
  readonly kind: 'internal' | 'client'
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly events: readonly SpanEvent[]
  /** Why it failed, as a code. */
  readonly error?: string | undefined
}

/** Something that happened within a span. */
export interface SpanEvent {
  readonly name: string
  readonly atMs: number
  readonly attributes: Attributes
}
