import type { SessionEvent } from '#contracts/event.ts'

/** A request to a model, answered or failed. */
export type ModelRequestEvent = SessionEvent<'model_called' | 'model_failed'>

/** A `double` stays a double even for a whole number. */
export type AttributeValue =
  | string
  | number
  | boolean
  | readonly string[]
  | { readonly double: number }

/** `undefined` attributes are not exported. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>

/** One span in OpenTelemetry's terms, with times in milliseconds. */
export interface Span {
  readonly id: string
  readonly parent?: string | undefined
  /** The parent is in another service. */
  readonly isParentRemote?: boolean
  readonly name: string
  /** `client`: the work is done by another service. */
  readonly kind: 'internal' | 'client'
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly events: readonly SpanEvent[]
  /** The code of the failure. */
  readonly error?: string | undefined
}

/** An event within a span. */
export interface SpanEvent {
  readonly name: string
  readonly atMs: number
  readonly attributes: Attributes
}
