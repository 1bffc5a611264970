import { failed } from './call-secrets.ts'
import { formsOf, fromBytes, toBinary, toBytes } from './value-forms.ts'

const mark = '[redacted]'

/** Bytes times forms: 2 MiB, the largest reply, for 128 forms. 16 ordinary tokens have 112. */
export const maxSearchWork = 2 * 1024 * 1024 * 128

/** Takes values out of what a host answers, so that none enters the plugin (docs/security.md T4). */
export interface ReplyRedactor {
  /** How many texts are searched for: each goes over the whole reply once. */
  readonly forms: number
  readonly text: (text: string) => string
  /** Of headers; one whose very name holds a value is left out. */
  readonly headers: (headers: Headers) => Headers
  readonly bytes: (bytes: Uint8Array) => Uint8Array
}

/**
 * Finds values in what a host answers, in every form of `formsOf`; the longest first. Throws `tool_failed` for what would
 * be too much work: what cannot be looked through is not handed on.
 */
export function createReplyRedactor(values: Iterable<string>): ReplyRedactor {
  const forms = [...new Set([...values].filter(Boolean).flatMap(formsOf))].toSorted(
    (one, other) => other.length - one.length,
  )
  const redact = (binary: string) => {
    if (binary.length * forms.length > maxSearchWork)
      throw failed(
        `The answer is too large to be searched for secrets: ${binary.length} bytes for ${forms.length} forms of them.`,
      )
    return forms.reduce((rest, form) => rest.replaceAll(form, markFor(form.length)), binary)
  }
  const text = (given: string) => {
    const binary = toBinary(given)
    const redacted = redact(binary)
    return redacted === binary ? given : new TextDecoder().decode(toBytes(redacted))
  }
  return {
    forms: forms.length,
    text,
    headers: (headers) => {
      const left = new Headers()
      for (const [name, value] of headers)
        if (text(name) === name) left.append(name, asHeader(text(value)))
      return left
    },
    bytes: (bytes) => {
      const binary = fromBytes(bytes)
      const redacted = redact(binary)
      return redacted === binary ? bytes : toBytes(redacted)
    },
  }
}

/** Never longer than what it stands for: a reply does not grow. */
const markFor = (chars: number) => (chars < mark.length ? '*'.repeat(chars) : mark)

/** What was cut out may leave bytes that are no header. */
const asHeader = (value: string) => value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
