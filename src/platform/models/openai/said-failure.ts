import { isObject } from './said-json.ts'

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
