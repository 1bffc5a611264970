import type { JsonObject } from '#contracts/json.ts'

const keyNames =
  /(^|[-_.])(api[-_]?key|apikey|key|access[-_]?token|token|auth|authorization|password|passwd|pwd|secret|session|sid|jwt|sig|signature|credential|code)$/i

/** The look of a key: sixteen or more letters and digits without a break, and some of each. */
const keyForm = /(?<![a-z0-9])(?=[a-z0-9]*\d)(?=[a-z0-9]*[a-z])[a-z0-9]{16,}/i
const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i
const looksLikeKey = (text: string): boolean => keyForm.test(text) || uuid.test(text)

/**
 * Whether a request identifies or authorizes its sender: by a header, a body, a user in its address, or a text that
 * looks like a key. Its answer is private then. False alarms are better than misses: a label that is too strict only
 * asks once more.
 */
export function bringsKey(url: URL, { headers, body }: JsonObject): boolean {
  const { username, password, pathname, searchParams } = url
  return (
    Object.keys(Object(headers)).length > 0 ||
    (body !== undefined && body !== '') ||
    username !== '' ||
    password !== '' ||
    looksLikeKey(decoded(pathname)) ||
    [...searchParams].some(([name, value]) => keyNames.test(name) || looksLikeKey(value))
  )
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
