type Encode = (text: string) => string

const lowerHex: Encode = (text) => text.replace(/%[0-9A-F]{2}/g, (triplet) => triplet.toLowerCase())
const strict: Encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, percentOf)
const json: Encode = (text) => JSON.stringify(text).slice(1, -1)
const escaped = (pattern: RegExp) => (text: string) =>
  json(text).replace(pattern, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
const upperEscapes: Encode = (text) =>
  text.replace(/\\u[0-9a-f]{4}/g, (escape) => `\\u${escape.slice(2).toUpperCase()}`)
const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const html: Encode = (text) => text.replace(/[&<>"']/g, (char) => entities[char] ?? char)

/** How others write a text: JSON (of several writers), addresses and forms, HTML. */
const encodings: readonly Encode[] = [
  (text) => text,
  json,
  (text) => json(json(text)),
  (text) => json(text).replaceAll('/', '\\/'),
  escaped(/[<>&]/g),
  escaped(/[<>&'\u007f-\uffff]/g),
  escaped(/[\u007f-\uffff]/g),
  (text) => upperEscapes(escaped(/[\u007f-\uffff]/g)(text)),
  encodeURIComponent,
  (text) => lowerHex(encodeURIComponent(text)),
  strict,
  (text) => lowerHex(strict(text)),
  (text) => strict(text).replaceAll('%20', '+'),
  encodeURI,
  html,
  (text) => html(text).replaceAll('&#39;', '&#x27;'),
  // By a service that takes bytes of UTF-8 for Latin-1, as many do with what `Basic` decodes to.
  toBinary,
  (text) => json(toBinary(text)),
]

/** From here on a text in other letters is no other word. */
const minCaseChars = 8
/** From here on a part of hex or base64 is no accident. */
const minHexChars = 6
const minBase64Chars = 6

/**
 * Every way in which a value may come back: as it is, in JSON, percent-encoded, in HTML, and each of these as hex, and
 * in base64 with whatever before and after it (`user:value`), in both alphabets. As strings of bytes; the longest first.
 */
export function formsOf(value: string): readonly string[] {
  const cases = value.length < minCaseChars ? [] : [value.toLowerCase(), value.toUpperCase()]
  const texts = new Set([...encodings.map((encode) => encode(value)), ...cases].map(toBinary))
  const percent = hexOf(toBinary(value)).replace(/../g, '%$&')
  const forms = [
    ...texts,
    percent,
    percent.toUpperCase(),
    ...[...texts].flatMap((text) => [...hexForms(text), ...base64Forms(text)]),
    ...base64Forms(btoa(toBinary(value))),
    ...utf16Forms(value),
    ...latin1Forms(value),
  ]
  return [...new Set(forms)].toSorted((one, other) => other.length - one.length)
}

const hexOf = (binary: string) =>
  Array.from(binary, (char) => char.charCodeAt(0).toString(16).padStart(2, '0')).join('')

function hexForms(binary: string): readonly string[] {
  const hex = hexOf(binary)
  return hex.length < minHexChars ? [] : [hex, hex.toUpperCase()]
}

/** Both byte orders. */
function utf16Forms(value: string): readonly string[] {
  const units = Array.from({ length: value.length }, (_, at) => value.charCodeAt(at))
  const bytes = units.map((unit) => [unit & 255, unit >> 8] as const)
  return [
    bytes.map(([low, high]) => String.fromCharCode(low, high)).join(''),
    bytes.map(([low, high]) => String.fromCharCode(high, low)).join(''),
  ]
}

/** In a reply that is not UTF-8 a character is one byte. */
const latin1Forms = (value: string): readonly string[] =>
  /[^\0-\u00ff]/.test(value) ? [] : [value]

/** What is the same in base64 wherever the value stands in what is encoded. */
export function base64Forms(plain: string): readonly string[] {
  const inner = [0, 1, 2].map((before) => {
    const text = btoa('\0'.repeat(before) + plain)
    const last = Math.floor(((before + plain.length) * 8) / 6)
    return text.slice([0, 2, 3][before], last)
  })
  return inner
    .filter((text) => text.length >= minBase64Chars)
    .flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
}

/** UTF-8, a character for each byte. */
export function toBinary(text: string): string {
  return fromBytes(new TextEncoder().encode(text))
}

const chunk = 8_192

/** Bytes as a text of one character each, for searching. */
export function fromBytes(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += chunk)
    text += String.fromCharCode(...bytes.subarray(at, at + chunk))
  return text
}

/** The bytes of such a text. */
export function toBytes(binary: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at)
  return bytes
}

function percentOf(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
}
