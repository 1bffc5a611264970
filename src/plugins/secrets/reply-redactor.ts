import { brokenBase64Spans, mixedSpans, type Span } from './mixed-forms.ts'
import { formsOf, fromBytes, toBinary, toBytes } from './value-forms.ts'

const mark = '[redacted]'

/** Takes values out of what a host answers, so that none enters the plugin (docs/security.md T4). */
export interface ReplyRedactor {
  readonly text: (text: string) => string
  /** Of headers; one whose very name holds a value is left out. */
  readonly headers: (headers: Headers) => Headers
  readonly bytes: (bytes: Uint8Array) => Uint8Array
}

/** Finds values in what a host answers, in every form of `formsOf`; the longest first. */
export function createReplyRedactor(values: Iterable<string>): ReplyRedactor {
  const all = [...new Set(values)]
  const forms = [...new Set(all.flatMap(formsOf))].toSorted(
    (one, other) => other.length - one.length,
  )
  const redact = (binary: string) => {
    const plain = forms.reduce((rest, form) => rest.replaceAll(form, markFor(form.length)), binary)
    return all.reduce(
      (rest, value) =>
        [mixedSpans, brokenBase64Spans].reduce(
          (text, find) => withoutSpans(text, find(text, value)),
          rest,
        ),
      plain,
    )
  }
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

/** Never longer than what it stands for: a reply does not grow. */
const markFor = (chars: number) => (chars < mark.length ? '*'.repeat(chars) : mark)

function withoutSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text
  let rest = ''
  let at = 0
  for (const [from, to] of spans.toSorted(([one], [other]) => one - other)) {
    if (to <= at) continue
    rest += text.slice(at, from) + markFor(to - Math.max(from, at))
    at = to
  }
  return rest + text.slice(at)
}

/** What was cut out may leave bytes that are no header. */
const asHeader = (value: string) => value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
