import type { ParsedBlock } from '#features/plugins/types/content.ts'
import { headOf } from '#contracts/cut.ts'
import { fieldsOf } from './types.ts'
import { isFields } from '#contracts/foreign-json.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * The parts of an answer as the protocol spells them. A part that cannot be read costs that part: a text in its place
 * says
 * what was there. Base64 is taken as Python, Go and browsers write it, and a text that came as bytes is a text.
 */
export function readBlocks(content: unknown): readonly ParsedBlock[] {
  if (content === undefined || content === null) return []
  const list = Array.isArray(content) ? (content as readonly unknown[]) : [content]
  return list.flatMap((block) => (block === null ? [] : readBlock(block)))
}

const text = (said: string): ParsedBlock => ({ type: 'text', text: said })

function readBlock(block: unknown): ParsedBlock {
  if (!isFields(block)) return text(typeof block === 'string' ? block : JSON.stringify(block))
  const given = fieldsOf(block)
  switch (given['type'] ?? typeOf(given)) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { ...text(toText(given['text'])), ...annotated(given) }
    case 'image':
    case 'audio':
      return readMedia(given, given['type'] === 'audio' ? 'audio' : 'image')
    case 'image_url':
    case 'input_image':
      return readMedia({ data: fieldsOf(given['image_url'])['url'] ?? given['image_url'] }, 'image')
    case 'resource':
      return readResource(given)
    case 'resource_link':
      return readLink(given)
    default:
      return unread(`A part of type ${toText(given['type'] ?? 'nothing')}`, block)
  }
}

/** The type of a part that names none, by its fields. */
function typeOf({ text: said, resource }: Fields): string | undefined {
  if (typeof said === 'string') return 'text'
  return isFields(resource) ? 'resource' : undefined
}

const toText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

const annotated = ({ annotations }: Fields) => (isFields(annotations) ? { annotations } : {})

const maxPartChars = 2_000

/** The replacement for an unreadable part: its kind, and the part itself with long texts cut. */
function unread(what: string, part: unknown): ParsedBlock {
  const shortened = JSON.stringify(part, (_key, value: unknown) =>
    typeof value === 'string' && value.length > maxPartChars
      ? `${headOf(value, maxPartChars)}… (${value.length} characters)`
      : value,
  )
  return text(`[${what} that cannot be read: ${shortened}]`)
}

/** Also as other services write it: `source` with `media_type`, and a data URL. */
function readMedia(given: Fields, type: 'image' | 'audio'): ParsedBlock {
  const source = fieldsOf(given['source'])
  const said = given['data'] ?? source['data']
  const what = `${type === 'image' ? 'An image' : 'A sound'}`
  if (typeof said !== 'string') return unread(what, given)
  const [, inUrl, rest = said] = /^\s*data:([^,]*),([^]*)$/.exec(said) ?? []
  const [ofUrl] = (inUrl ?? '').split(';')
  const data = toBase64(rest)
  if (data === undefined || data === '') return unread(what, given)
  const named = given['mimeType'] ?? source['media_type'] ?? given['mime_type']
  const mimeType = typeof named === 'string' && named !== '' ? named : ofUrl || guessed(data, type)
  return { type, data, mimeType, ...annotated(given) }
}

const signatures = {
  iVBORw0KGgo: 'image/png',
  '/9j/': 'image/jpeg',
  R0lGOD: 'image/gif',
  UklGR: 'image/webp',
} as const

const guessed = (data: string, type: 'image' | 'audio'): string =>
  Object.entries(signatures).find(([start]) => type === 'image' && data.startsWith(start))?.[1] ??
  'application/octet-stream'

/**
 * Base64 in the form that every reader takes: no line breaks, first alphabet, padded; `undefined` if the text is
 * none.
 */
function toBase64(said: string): string | undefined {
  const plain = said
    .replace(/\s+/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/(?<!=)=+$/, '')
  if (!/^[A-Za-z0-9+/]*$/.test(plain) || plain.length % 4 === 1) return undefined
  return plain.padEnd(Math.ceil(plain.length / 4) * 4, '=')
}

function readResource(given: Fields): ParsedBlock {
  const { uri, mimeType, text: said, blob } = fieldsOf(given['resource'])
  const about = {
    uri: toText(uri),
    ...(typeof mimeType === 'string' && { mimeType }),
  }
  const read = typeof said === 'string' ? { text: said } : readBlob(blob, about.mimeType)
  if (!read) return unread('A resource', given['resource'] ?? given)
  return { type: 'resource', resource: { ...about, ...read }, ...annotated(given) }
}

/** Text that came as bytes is read: a model reads no base64. */
function readBlob(
  blob: unknown,
  mimeType: string | undefined,
): { readonly text: string } | { readonly blob: string } | undefined {
  if (typeof blob !== 'string') return undefined
  const [, inUrl, rest = blob] = /^\s*data:([^,]*),([^]*)$/.exec(blob) ?? []
  const bytes = toBase64(rest)
  if (bytes === undefined) return undefined
  const said = decoded(bytes, mimeType ?? (inUrl || undefined))
  return said === undefined ? { blob: bytes } : { text: said }
}

const ofText =
  /^(text\/|application\/([\w.+-]*[+.-])?(json|jsonl|ndjson|json5|xml|yaml|toml|javascript|ecmascript|typescript|sql|graphql|csv|x-sh|x-yaml|x-ndjson|x-www-form-urlencoded|rtf)$|image\/svg)/

function decoded(base64: string, mimeType: string | undefined): string | undefined {
  const [type = '', ...parameters] = (mimeType ?? '').toLowerCase().split(';')
  const isOfText = ofText.test(type.trim())
  // Without a type it is a text if it reads as one.
  if (!isOfText && mimeType !== undefined) return undefined
  const charset = /charset="?([\w-]+)/.exec(parameters.join(';'))?.[1] ?? 'utf-8'
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
    const said = new TextDecoder(charset, { fatal: true, ignoreBOM: false }).decode(bytes)
    return isOfText || !/[^\P{Cc}\t\n\v\f\r]/u.test(said) ? said : undefined
  } catch {
    return undefined
  }
}

function readLink(given: Fields): ParsedBlock {
  const { uri, name } = given
  if (typeof uri !== 'string') return unread('A link', given)
  const texts = ['title', 'description', 'mimeType'].flatMap((field) => {
    const value = given[field]
    return typeof value === 'string' ? [[field, value] as const] : []
  })
  const shown = typeof name === 'string' ? name : uri
  return {
    type: 'resource_link',
    uri,
    name: shown,
    ...Object.fromEntries(texts),
    ...annotated(given),
  }
}
