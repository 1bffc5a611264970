import { defined } from '#contracts/defined.ts'
import type { JsonObject, Json } from '#contracts/json.ts'
import type { OpaqueFields } from '#contracts/message.ts'
import type { ModelToolCall } from '#contracts/model.ts'
import { toWellFormedJson } from '../types.ts'
import { maxOpaqueChars } from './reply-limits.ts'

/**
 * Whose opaque fields are whose: of a provider, at this address, and of one family of models. Another family at the
 * same address may be another vendor's.
 */
export function serviceOf(id: string, baseUrl: string | undefined, model: string): string {
  const url = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  // Without what may be a secret in it.
  const address = url ? `${url.host}${url.pathname.replace(/\/$/, '')}` : 'default'
  return `${id} ${address} ${familyOf(model)}`
}

/** `gemini` of `google/gemini-3-pro-preview`, `deepseek` of `deepseek-reasoner`. */
function familyOf(model: string): string {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return /^\p{L}+/u.exec(name)?.[0] ?? name
}

/** A call, and the fields that its service wants back with it. */
export interface DraftedCall extends Omit<ModelToolCall, 'opaque'> {
  readonly opaque: JsonObject | undefined
}

/** The calls of a reply, with what its service wants back. */
export function withOpaque(
  calls: readonly DraftedCall[],
  reply: JsonObject | undefined,
  service: string,
): readonly ModelToolCall[] {
  return calls.map(({ opaque: call, ...rest }, index) => {
    const isFirst = index === 0 && reply !== undefined
    const opaque = { service, ...(isFirst && { reply }), ...defined({ call }) }
    return isFirst || call ? { ...rest, opaque } : rest
  })
}

/** The part of them that this service gets back. */
export const ofService = (
  opaque: OpaqueFields | undefined,
  service: string | undefined,
): Pick<OpaqueFields, 'reply' | 'call'> =>
  opaque !== undefined && opaque.service === service ? opaque : {}

/**
 * Fields that a service of thinking models sends with its calls for its own use: reasoning, signatures, encrypted
 * parts.
 */
const ofMessage = /reason|think|thought|signature|encrypted|^extra_content$|^provider_/i
const notOfMessage = /^(?:finish|stop|native_finish)_reason$/i

const ofCall = new Set(['index', 'id', 'type', 'function', 'custom'])
const ofFunction = new Set(['name', 'arguments', 'args', 'parameters', 'input'])

/** The fields of a message that its service may want back. */
export const opaqueOfMessage = (message: object): JsonObject | undefined =>
  fieldsOf(message, (name) => ofMessage.test(name) && !notOfMessage.test(name))

/** Whatever a call has besides its id, its name and its arguments. */
export function opaqueOfCall(call: object, inner: object): JsonObject | undefined {
  const isFlat = inner === call
  const own = fieldsOf(call, (name) => !ofCall.has(name) && !(isFlat && ofFunction.has(name)))
  const inside = isFlat ? undefined : fieldsOf(inner, (name) => !ofFunction.has(name))
  return own || inside ? { ...own, ...defined({ function: inside }) } : undefined
}

function fieldsOf(said: object, isTaken: (name: string) => boolean): JsonObject | undefined {
  const taken = Object.entries(said).filter(([name, value]) => isTaken(name) && !isEmpty(value))
  return taken.length === 0 ? undefined : (Object.fromEntries(taken) as JsonObject)
}

/** Nothing, as services write it that send all of their fields always. */
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0)

/** The opaque fields of a reply or of a call, put together from their pieces. */
export interface OpaqueDraft {
  readonly add: (fields: JsonObject | undefined) => void
  readonly finish: () => JsonObject | undefined
}

/** The size of all opaque fields of one reply. */
export interface OpaqueBudget {
  chars: number
}

/** Beyond the budget nothing is kept: a service that needs it back refuses the next request, and says so. */
export function createOpaqueDraft(budget: OpaqueBudget): OpaqueDraft {
  let fields: Record<string, unknown> | undefined
  return {
    add(piece) {
      if (piece === undefined || budget.chars > maxOpaqueChars) return
      budget.chars += JSON.stringify(piece).length
      if (budget.chars <= maxOpaqueChars) mergeInto((fields ??= {}), piece)
    },
    finish: () =>
      fields === undefined || budget.chars > maxOpaqueChars
        ? undefined
        : toWellFormedJson(fields as JsonObject),
  }
}

/** Words come piece by piece. Whatever else comes twice is the same again, or newer. */
const isOfWords = /^(?:text|summary|thoughts?|(?:reasoning|thinking)(?:_content|_text)?)$/i

function mergeInto(target: Record<string, unknown>, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    const before = Object.hasOwn(target, name) ? target[name] : undefined
    if (typeof before === 'string' && typeof value === 'string' && isOfWords.test(name))
      set(target, name, before + value)
    else if (Array.isArray(value)) set(target, name, joined(before, value))
    else if (isRecord(before) && isRecord(value)) mergeInto(before, value as JsonObject)
    else if (!isEmpty(value)) set(target, name, copyOf(value))
  }
}

/** Elements in their order; the pieces of one have its number. */
function joined(before: unknown, pieces: readonly Json[]): unknown[] {
  const list: unknown[] = Array.isArray(before) ? before : []
  const earlier = list.length
  for (const piece of pieces) {
    const open = list[earlier - 1]
    if (isRecord(piece) && isRecord(open) && isSame(open, piece))
      mergeInto(open, piece as JsonObject)
    else list.push(copyOf(piece))
  }
  return list
}

const isSame = (open: Record<string, unknown>, piece: Record<string, unknown>): boolean =>
  typeof piece.index === 'number' &&
  open.index === piece.index &&
  open.type === piece.type &&
  Object.keys(piece).some((name) => isOfWords.test(name) || name === 'signature')

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A copy of our own: later pieces are added to it. */
const copyOf = (value: Json): unknown => structuredClone(value)

/** `defineProperty`, since a name such as `__proto__` is an ordinary name here. */
function set(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}
