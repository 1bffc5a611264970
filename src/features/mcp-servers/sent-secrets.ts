import type { Json, JsonObject } from '#contracts/json.ts'

/** Takes values out of a text, however they are written in it. */
export type RedactorOf = (values: Iterable<string>) => Redact
type Redact = (text: string) => string

/** As many headers as a server may have, and the newest tokens: older ones open nothing any more. */
const maxValues = 24

/** A shorter one may be any word: our own names of fields, and numbers, are not looked through for it. */
const minNameChars = 8

/** A server knows the secrets that open it; no reply of it repeats them (docs/security.md T4). */
export function createSentSecrets(redactorOf: RedactorOf) {
  const values = new Set<string>()
  let redactors: readonly [Redact, Redact] | undefined
  const long = () => [...values].filter(({ length }) => length >= minNameChars)
  const current = () => (redactors ??= [redactorOf(values), redactorOf(long())])
  const fromText = (text: string): string => (values.size === 0 ? text : current()[0](text))
  return {
    add: (value: string): void => {
      if (value === '') return
      const isKnown = values.delete(value)
      values.add(value)
      if (isKnown) return
      const [oldest] = values
      if (values.size > maxValues && oldest !== undefined) values.delete(oldest)
      redactors = undefined
    },
    fromText,
    /** Of JSON: redacts all secrets in its strings, and secrets of 8 characters or more in its numbers and names. */
    fromJson<T>(value: T): T {
      const text = JSON.stringify(value)
      if (fromText(text) === text) return value
      return walk(JSON.parse(text) as Json, current()) as T // the same shape with other strings
    },
  }
}

function walk(value: Json, redactors: readonly [Redact, Redact]): Json {
  const [inText, inNames] = redactors
  if (typeof value === 'string') return inText(value)
  if (typeof value === 'number') {
    const text = String(value)
    const left = inNames(text)
    return left === text ? value : left
  }
  if (Array.isArray(value)) return value.map((one: Json) => walk(one, redactors))
  if (value === null || typeof value !== 'object') return value
  const fields = Object.entries(value as JsonObject)
  return Object.fromEntries(fields.map(([name, one]) => [inNames(name), walk(one, redactors)]))
}
