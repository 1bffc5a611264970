import { IsolaError } from '#contracts/errors.ts'

/** Takes values out of a text, however they are written in it. */
export type RedactorOf = (values: Iterable<string>) => (text: string) => string

/** What was sent to one server to open it. */
export interface SentSecrets {
  readonly add: (value: string) => void
  readonly fromText: (text: string) => string
  /** Of JSON; throws `tool_failed` if what is left is none. */
  readonly fromJson: <T>(value: T) => T
}

/** As many headers as a server may have, and the newest tokens: older ones open nothing any more. */
const maxValues = 24

/** A server knows the secrets it is opened with; none of them comes back in what it says (SECURITY.md, T4). */
export function createSentSecrets(redactorOf: RedactorOf): SentSecrets {
  const values = new Set<string>()
  let redact: ((text: string) => string) | undefined
  const fromText = (text: string): string => {
    if (values.size === 0) return text
    redact ??= redactorOf(values)
    return redact(text)
  }
  return {
    add(value) {
      if (value === '') return
      const isKnown = values.delete(value)
      values.add(value)
      if (isKnown) return
      const [oldest] = values
      if (values.size > maxValues && oldest !== undefined) values.delete(oldest)
      redact = undefined
    },
    fromText,
    fromJson<T>(value: T): T {
      const text = JSON.stringify(value)
      const left = fromText(text)
      return left === text ? value : (parse(left) as T) // the same shape with other strings
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new IsolaError('tool_failed', 'The answer holds what it must not.', { cause })
  }
}
