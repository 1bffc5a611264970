import { IsolaError } from '#contracts/errors.ts'

/** JSON has no `undefined`: that is what is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null

/**
 * The failure that a service reports in the body of a reply, whole or among the events of a stream, in any of the
 * usual forms; `undefined` if it reports none.
 */
export function failureIn(body: unknown): object | undefined {
  // Google's address for this protocol puts its errors into a list.
  const said = Array.isArray(body) ? body[0] : body
  if (!isObject(said)) return undefined
  const { error, choices } = said as Record<string, unknown>
  if (isSaid(error)) return toObject(error)
  const [first] = Array.isArray(choices) ? choices : []
  if (isObject(first))
    return 'error' in first && isSaid(first.error) ? toObject(first.error) : undefined
  return withoutChoices(said as Record<string, unknown>)
}

function withoutChoices(said: Record<string, unknown>): object | undefined {
  const { object, type, errors, detail, base_resp: base, message, msg, code, status } = said
  if (object === 'error' || type === 'error') return said
  if (Array.isArray(errors) && isSaid(errors[0])) return toObject(errors[0])
  if (isSaid(detail)) return toObject(detail)
  // MiniMax says it beside choices of `null`.
  if (isObject(base) && 'status_code' in base && base.status_code !== 0)
    return { ...base, code: base.status_code, message: 'status_msg' in base ? base.status_msg : '' }
  const text = message ?? msg
  const isOne = saysFailure(status) || (code !== undefined && !isFine.test(String(code)))
  return typeof text === 'string' && isOne ? { ...said, message: text } : undefined
}

/** A body with a code has failed, except for HTTP codes below 400 and the states of a reply that is still to come. */
const isFine =
  /^(?:null|0|[123]\d\d|ok|success|queued|pending|waiting|processing|in[-_ ]?progress|running|started|accepted)?$/i

/** A status tells how far a reply is; it fails from 400 on, or by its word. */
const saysFailure = (status: unknown): boolean =>
  Number(status) >= 400 ||
  (typeof status === 'string' &&
    (/error|fail|denied|rejected|abort|cancel/i.test(status) ||
      statusByWord.some(([word]) => word.test(status))))

/** `null`, an empty text and an empty object are no error. */
const isSaid = (error: unknown): boolean =>
  isObject(error) ? Object.keys(error).length > 0 : Boolean(error)

const toObject = (error: unknown): object => (isObject(error) ? error : { message: String(error) })

/** The HTTP status that such a failure has, as a number or by its words. */
export function statusIn(failure: unknown): number | undefined {
  if (!isObject(failure)) return undefined
  const said = failure as Record<string, unknown>
  const { code, status, status_code, statusCode, http_code, type } = said
  const words = [code, status, status_code, statusCode, http_code, type]
  for (const word of words) {
    const number = Number(word)
    if (Number.isInteger(number) && number >= 400 && number <= 599) return number
  }
  const text = words.filter((word) => typeof word === 'string').join(' ')
  return statusByWord.find(([word]) => word.test(text))?.[1]
}

const statusByWord: readonly (readonly [RegExp, number])[] = [
  [/rate.?limit|too.?many.?requests|resource.?exhausted|insufficient.?quota|throttl/i, 429],
  [/overload|unavailable|server.?error|internal.?error|\binternal\b|\bcapacity/i, 503],
  [/authentication|unauthenticated|unauthorized|api.?key/i, 401],
  [/permission|forbidden/i, 403],
  [/invalid.?request|bad.?request|invalid.?argument|invalid.?parameter/i, 400],
]

/** Characters of text and arguments together. */
export const maxReplyChars = 4 * 1024 * 1024
/** Characters of one call's arguments. */
export const maxArgumentsChars = 1024 * 1024
export const maxCalls = 1_000
/** The most parts of a content that is a list. */
export const maxParts = 10_000
/** Characters of what a service wants back of one reply, as JSON: kept in the row of its turn. */
export const maxOpaqueChars = 300_000
/** The most characters of ids and names that a server makes up. */
export const maxNameChars = 256
const MiB = 1024 * 1024
/** A token is a few hundred bytes of stream, so this is far above any reply that fits `maxReplyChars`. */
export const maxReplyBytes = 64 * MiB
/** The most bytes that are in memory before they can be parsed: one event of a stream, comments before it included. */
export const maxEventBytes = 2 * MiB
/** The same for a reply in one piece. */
export const maxBodyBytes = 8 * MiB

export function tooLarge(what: string): IsolaError {
  return new IsolaError('model_invalid_reply', `The model service sent more than ${what}.`)
}

/** A reply of more bytes than its limit. */
export const tooManyBytes = (maxBytes: number): IsolaError =>
  tooLarge(`${maxBytes / MiB} MiB ${maxBytes === maxReplyBytes ? 'in one reply' : 'at once'}`)

/** Counts what a piece of a reply weighs, which may never end (A7). The whole is counted where it comes in. */
export interface ByteMeter {
  /** Throws `model_invalid_reply` past a limit. */
  readonly add: (sizeBytes: number) => void
  /** The bytes so far have been taken as a piece. */
  readonly endPiece: () => void
}

export function createByteMeter(maxPieceBytes: number): ByteMeter {
  let piece = 0
  return {
    add(sizeBytes) {
      piece += sizeBytes
      if (piece > maxPieceBytes) throw tooManyBytes(maxPieceBytes)
    },
    endPiece() {
      piece = 0
    },
  }
}
