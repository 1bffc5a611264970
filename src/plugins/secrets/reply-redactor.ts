import { formsOf, fromBytes, toBinary, toBytes } from './value-forms.ts'

const mark = '[redacted]'

/** Takes values out of what a host answers, so that none enters the plugin (SECURITY.md T4). */
export interface ReplyRedactor {
  readonly text: (text: string) => string
  /** Of headers; one whose very name holds a value is left out. */
  readonly headers: (headers: Headers) => Headers
  readonly bytes: (bytes: Uint8Array) => Uint8Array
}

export function createReplyRedactor(values: Iterable<string>): ReplyRedactor {
  const forms = [...new Set([...values].flatMap(formsOf))].toSorted(
    (one, other) => other.length - one.length,
  )
  // Never longer than what it stands for: a reply does not grow.
  const redact = (binary: string) =>
    forms.reduce(
      (rest, form) =>
        rest.replaceAll(form, form.length < mark.length ? '*'.repeat(form.length) : mark),
      binary,
    )
  const text = (given: string) => {
    const binary = toBinary(given)
    const redacted = redact(binary)
    return redacted === binary ? given : new TextDecoder().decode(toBytes(redacted))
  }
  return {
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

/** What was cut out may leave bytes that are no header. */
const asHeader = (value: string) => value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
