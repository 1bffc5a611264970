import type * as z from 'zod'
import type { deploymentEventSchemas } from './events/deployment-event-schemas.ts'
import type { eventSchemas } from './event-schemas.ts'

type Schemas = typeof eventSchemas

/**
 * Every kind of thing that can happen, as `noun_verb`. The stream, the audit log, traces and the console are views
 * of these.
 */
export type EventType = keyof Schemas

/** The fields of an event, as it is emitted and stored. JSON without a secret. */
export type EventData<Type extends EventType = EventType> = Readonly<z.infer<Schemas[Type]['data']>>

/** The same for a reader of the session: with texts, arguments and results, without internal details of faults. */
export type ToldData<Type extends EventType = EventType> = Readonly<z.infer<Schemas[Type]['told']>>

type DraftOf<Type extends EventType> = { readonly type: Type; readonly data: EventData<Type> }
type ToldOf<Type extends EventType> = { readonly type: Type; readonly data: ToldData<Type> }

/** Where and when something happened. `seq` counts from 1 without gaps; the SSE id is `<run>:<seq>`. */
export interface EventPlace {
  readonly seq: number
  readonly run: string
  readonly agent: string
  readonly trace: string
  /** Epoch milliseconds. */
  readonly atMs: number
}

/** An event before it has its place in the log; of one kind, of some, or of any. */
export type EventDraft<Type extends EventType = EventType> = {
  [Each in Type]: DraftOf<Each>
}[Type]

/** One entry of a session's log as it is stored, and on the audit record. */
export type SessionEvent<Type extends EventType = EventType> = {
  [Each in Type]: EventPlace & DraftOf<Each>
}[Type]

/** One entry of a session's log as its readers get it. */
export type ToldEvent<Type extends EventType = EventType> = {
  [Each in Type]: EventPlace & ToldOf<Each>
}[Type]

/**
 * The items of a live stream besides the log: pieces of an unfinished message. They have no id and are never stored.
 */
export interface MessageDelta {
  readonly type: 'message_delta'
  readonly run: string
  readonly turn: number
  /** Characters of this message before `text`: a late reader can tell what it missed. */
  readonly offset: number
  readonly text: string
}

export type StreamItem = ToldEvent | MessageDelta

/** Every kind of thing that happens to the deployment and is of no session. */
export type DeploymentEventType = keyof typeof deploymentEventSchemas

export type DeploymentEventData<Type extends DeploymentEventType = DeploymentEventType> = Readonly<
  z.infer<(typeof deploymentEventSchemas)[Type]>
>

/** An event of the deployment before its principal and time are added: a change by an operator, or an attempt. */
export type DeploymentDraft<Type extends DeploymentEventType = DeploymentEventType> = {
  [Each in Type]: { readonly type: Each; readonly data: DeploymentEventData<Each> }
}[Type]

/** The author, the request and the time of a deployment event. */
export interface DeploymentEventPlace {
  /** The author; empty if it is not known. */
  readonly principal: string
  /** The trace of its request; empty if it has none. */
  readonly trace: string
  readonly atMs: number
}

/** An operator's change, or an attempt that was refused. `data` is JSON and holds no secret. */
export type DeploymentEvent<Type extends DeploymentEventType = DeploymentEventType> =
  DeploymentEventPlace & DeploymentDraft<Type>

/** Makes an event of a kind that is known only at run time: the argument types prove that its data fits. */
export const deploymentEvent = <Type extends DeploymentEventType>(
  type: Type,
  { principal, trace, atMs }: DeploymentEventPlace,
  data: DeploymentEventData<Type>,
): DeploymentEvent => ({ type, principal, trace, atMs, data }) as DeploymentEvent

/** Where the deployment's own events go. Throws `request_unavailable`. */
export interface DeploymentLog {
  /** @param onceBy A field of its data: nothing is written if an event of this type has the same value there. */
  readonly append: (event: DeploymentEvent, onceBy?: string) => Promise<void>
}

/** An event with more in its payload. The type says that it fits its kind, which the compiler cannot follow. */
export const withData = <Event extends { readonly data: object }>(
  event: Event,
  more: Partial<Event['data']>,
): Event => ({ ...event, data: { ...event.data, ...more } })
