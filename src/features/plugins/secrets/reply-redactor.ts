import { failed } from '../types/plugin-output.ts'

type Encode = (text: string) => string

const json: Encode = (text) => JSON.stringify(text).slice(1, -1)
const escaped = (pattern: RegExp) => (text: string) =>
  json(text).replace(pattern, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
const strict: Encode = (text) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
const lowerHex: Encode = (text) => text.replace(/%[0-9A-F]{2}/g, (triplet) => triplet.toLowerCase())
const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const html: Encode = (text) => text.replace(/[&<>"']/g, (char) => entities[char] ?? char)

/**
 * How an honest server may encode a value in its answer: in JSON (plain; within JSON; with escaped slashes; for HTML;
 * in ASCII), in an address or a form, in a page. A secret of letters and digits has the same form in all of them.
 */
const encodings: readonly Encode[] = [
  (text) => text,
  json,
  (text) => json(json(text)),
  (text) => json(text).replaceAll('/', '\\/'),
  escaped(/[<>&]/g),
  escaped(/[\u007f-\uffff]/g),
  (text) => escaped(/[\u007f-\uffff]/g)(text).replaceAll('/', '\\/'),
  encodeURIComponent,
  encodeURI,
  strict,
  (text) => lowerHex(strict(text)),
  (text) => strict(text).replaceAll('%20', '+'),
  html,
  (text) => html(text).replaceAll('&#39;', '&#x27;'),
  // As a service writes it that reads UTF-8 bytes as Latin-1, as many do with decoded `Basic` credentials.
  toBinary,
]

/** A shorter part of base64 could match by accident. */
const minBase64Chars = 6

/**
 * The forms in which an honest server may return a value, as strings of bytes, the longest first: plain, in JSON, in
 * an address, in HTML, and in base64 with any text around it (`user:value`, as in `Authorization`), in both
 * alphabets. A token of letters and digits has at most 7 forms.
 */
function formsOf(value: string): readonly string[] {
  // HTTP trims the space around a header's value, so the server returns it trimmed.
  const written = (value.trim() || value).toWellFormed()
  const forms = [
    ...encodings.map((encode) => toBinary(encode(written))),
    ...[written, json(written)].flatMap((text) => base64Forms(toBinary(text))),
    // In a reply that is not UTF-8 a character is one byte.
    ...(/[^\0-\u00ff]/.test(written) ? [] : [written]),
  ]
  return [...new Set(forms)].toSorted((one, other) => other.length - one.length)
}

/** The part of the value's base64 that does not depend on the text around it, for each of three alignments. */
function base64Forms(plain: string): readonly string[] {
  const inner = [0, 1, 2].map((before) => {
    const text = btoa('\0'.repeat(before) + plain)
    const last = Math.floor(((before + plain.length) * 8) / 6)
    return text.slice([0, 2, 3][before], last)
  })
  return inner
    .filter((text) => text.length >= minBase64Chars)
    .flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
}

/** UTF-8, with one character for each byte. */
function toBinary(text: string): string {
  return fromBytes(new TextEncoder().encode(text))
}

const chunk = 8_192

/** Bytes as a text with one character each, for searching. */
function fromBytes(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += chunk)
    text += String.fromCharCode(...bytes.subarray(at, at + chunk))
  return text
}

/** The bytes of such a text. */
function toBytes(binary: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at)
  return bytes
}

const mark = '[redacted]'

/** Bytes times forms: 2 MiB, the largest reply, for 128 forms. 16 ordinary tokens have 112. */
export const maxSearchWork = 2 * 1024 * 1024 * 128

/**
 * Redacts secret values in a host's answer, in every form of `formsOf`, the longest first, so that none enters the
 * plugin (docs/security.md T4). Throws `tool_failed` if the search would take too long: an answer that cannot be
 * searched is not passed on.
 */
export function createReplyRedactor(values: Iterable<string>) {
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
    /** How many texts are searched for; each search reads the whole reply once. */
    forms: forms.length,
    text,
    /** Redacts headers; a header whose name contains a value is left out. */
    headers: (headers: Headers) => {
      const left = new Headers()
      for (const [name, value] of headers)
        if (text(name) === name) left.append(name, asHeader(text(value)))
      return left
    },
    bytes: (bytes: Uint8Array): Uint8Array => {
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
