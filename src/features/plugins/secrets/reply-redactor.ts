import { failed } from './call-secrets.ts'
import { formsOf, fromBytes, toBinary, toBytes } from './value-forms.ts'

const mark = '[redacted]'

/** Bytes times forms: 2 MiB, the largest reply, for 128 forms. 16 ordinary tokens have 112. */
export const maxSearchWork = 2 * 1024 * 1024 * 128

/** Redacts secret values in a host's answer, so that none enters the plugin (docs/security.md T4). */
export interface ReplyRedactor {
  /** How many texts are searched for; each search reads the whole reply once. */
  readonly forms: number
  readonly text: (text: string) => string
  /** Redacts headers; a header whose name contains a value is left out. */
  readonly headers: (headers: Headers) => Headers
  readonly bytes: (bytes: Uint8Array) => Uint8Array
}

/**
 * Finds secret values in a host's answer, in every form of `formsOf`, the longest first. Throws `tool_failed` if the
 * search would take too long: an answer that cannot be searched is not passed on.
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

/** Never longer than the redacted text, so that a reply does not grow. */
const markFor = (chars: number) => (chars < mark.length ? '*'.repeat(chars) : mark)

/** A redacted header may contain bytes that no header may have. */
const asHeader = (value: string) => value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
