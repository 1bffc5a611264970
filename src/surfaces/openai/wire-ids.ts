import type { ItemPlace } from '#runtime/session/types/session-view.ts'
import type { ResponsePlace } from '#runtime/session/types/submission.ts'

/**
 * The ids that clients get say where they belong: a stateless client brings back all that is needed
 * (docs/design.md section 12).
 */
export interface WirePlace {
  readonly session: string
  readonly run: string
}

/** Where a response is: its session, its run, and after which turn it begins. */
export interface PlaceInSession extends ResponsePlace {
  readonly session: string
}

const key = '[0-9A-Za-z]{22}'
const responseId = new RegExp(`^resp_(${key})(${key})(?:_([1-9]\\d{0,5}))?$`)
const ownCall = '(\\d{1,6})_\\d{1,3}_[0-9a-f]{8}'
const callId = new RegExp(`^call_(${key})(${key})_(${ownCall})$`)
const messageId = new RegExp(`^msg_(${key})(${key})_\\d{1,6}$`)
const functionCallId = new RegExp(`^fc_(${key})(${key})_${ownCall}$`)
const itemId = new RegExp(`^(msg|fc|fco)_(${key})(${key})?_(\\w{1,40})$`)
const conversationId = new RegExp(`^conv_(${key})$`)

const keysOf = ({ session, run }: WirePlace) =>
  `${session.slice('ses_'.length)}${run.slice('run_'.length)}`
const toPlace = (session: string, run: string): WirePlace => ({
  session: `ses_${session}`,
  run: `run_${run}`,
})

/** `resp_` + session + run, and the turn after which it begins if that is not the first. */
export const toResponseId = (place: PlaceInSession): string =>
  `resp_${keysOf(place)}${place.turn > 0 ? `_${place.turn}` : ''}`

/** The place that an id names; `undefined` for an id of another form. The place may not exist. */
export function parseResponseId(text: string): PlaceInSession | undefined {
  const [, session, run, turn = '0'] = responseId.exec(text) ?? []
  return session !== undefined && run !== undefined
    ? { ...toPlace(session, run), turn: Number(turn) }
    : undefined
}

/** A call's id without the prefix that all have, and back: its place within the run, for a client's ids. */
const toOwnKey = (call: string): string => call.slice('call_'.length)
const fromOwnKey = (own: string): string => `call_${own}`
const isOwnKey = new RegExp(`^${ownCall}$`)
const isOwnCall = new RegExp(`^call_${ownCall}$`)

/** At most 64 characters up to turn 999, as OpenAI's own. */
export const toCallId = (place: WirePlace, call: string): string =>
  `call_${keysOf(place)}_${toOwnKey(call)}`

/** A call that went out to a client, and the turn that asked for it. */
export interface CallPlace extends PlaceInSession {
  readonly call: string
}

/** Our call behind the id that a client was given; `undefined` if it is not one of ours. */
export function parseCallId(text: string): CallPlace | undefined {
  const [, session, run, own, turn] = callId.exec(text) ?? []
  return session !== undefined && run !== undefined && own !== undefined
    ? { ...toPlace(session, run), call: fromOwnKey(own), turn: Number(turn) }
    : undefined
}

/** `msg_` + session + run + turn. */
export const toMessageId = (place: WirePlace, turn: number): string =>
  `msg_${keysOf(place)}_${turn}`

/** `cmp_` + session + run: the item that stands for what was compacted. */
export const toCompactionId = (place: WirePlace): string => `cmp_${keysOf(place)}`

/** `fc_` + session + run + the call's own part: an item's id, beside the `call_id`. */
export const toFunctionCallId = (place: WirePlace, call: string): string =>
  `fc_${keysOf(place)}_${toOwnKey(call)}`

const prefixes = { message: 'msg', call: 'fc', output: 'fco' } as const

/** For the model's message: the id that it has in its response. */
export function toItemId({ type, run = '', key: place }: ItemPlace, session: string): string {
  const own = isOwnCall.test(place) ? toOwnKey(place) : place
  return `${prefixes[type]}_${keysOf({ session, run })}_${own}`
}

/** The item of this session behind an id; `undefined` if there can be none. */
export function parseItemOf(session: string, text: string): ItemPlace | undefined {
  const [, prefix, owner, run, own] = itemId.exec(text) ?? []
  const type = (['message', 'call', 'output'] as const).find((one) => prefixes[one] === prefix)
  if (!type || own === undefined || `ses_${owner}` !== session) return undefined
  return {
    type,
    key: isOwnKey.test(own) ? fromOwnKey(own) : own,
    ...(run && { run: `run_${run}` }),
  }
}

/** The run that an item is of. */
export function parseItemId(text: string): WirePlace | undefined {
  const [, session, run] = messageId.exec(text) ?? functionCallId.exec(text) ?? []
  return session !== undefined && run !== undefined ? toPlace(session, run) : undefined
}

/** `conv_` + what names the session. */
export const toConversationId = (session: string): string => `conv_${session.slice('ses_'.length)}`

/** The session behind it. */
export function parseConversationId(text: string): string | undefined {
  const [, session] = conversationId.exec(text) ?? []
  return session === undefined ? undefined : `ses_${session}`
}
