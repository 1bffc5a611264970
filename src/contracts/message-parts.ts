import type { Message, MessageImage } from './message.ts'

/** How closely a model looks at a picture, as OpenAI's API spells it. */
export const imageDetails = ['auto', 'low', 'high', 'original'] as const

/** A part of a message, in the order in which it was said. */
export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | ({ readonly type: 'image' } & Omit<MessageImage, 'offset'>)

/** A text and the pictures in it. Each picture knows its place. */
export interface TextWithImages {
  readonly text: string
  readonly images?: readonly MessageImage[]
}

/** Between two texts of one message. */
const betweenTexts = '\n'

/** One text and its pictures, for parts in any order. Empty texts are left out; texts are joined by a line break. */
export function fromParts(parts: readonly MessagePart[]): TextWithImages {
  const said = parts.filter((part) => part.type === 'image' || part.text !== '')
  const text = said.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(betweenTexts)
  const place = { offset: 0 }
  const images = said.flatMap((part): readonly MessageImage[] => {
    const { offset } = place
    if (part.type === 'text') {
      place.offset += (offset === 0 ? 0 : betweenTexts.length) + part.text.length
      return []
    }
    const { type: _type, ...image } = part
    return [offset < text.length ? { ...image, offset } : image]
  })
  return { text, ...(images.length > 0 && { images }) }
}

/** The parts of a message in their order: what `fromParts` was given. A text without pictures is one part. */
export function toParts({ text, images = [] }: TextWithImages): readonly MessagePart[] {
  const place = { from: 0 }
  const textTo = (to: number): readonly MessagePart[] => {
    const { from } = place
    if (to <= from) return []
    place.from = to
    const isAfterText = from > 0 && text.startsWith(betweenTexts, from)
    const piece = text.slice(isAfterText ? from + betweenTexts.length : from, to)
    return piece === '' ? [] : [{ type: 'text', text: piece }]
  }
  const placed = images.flatMap(({ offset = text.length, ...image }): readonly MessagePart[] => [
    ...textTo(Math.min(offset, text.length)),
    { type: 'image', ...image },
  ])
  return [...placed, ...textTo(text.length)]
}

/** A message as people and programs read it: what a model service alone reads is left out. */
export function withoutOpaque(message: Message): Message {
  if (message.role !== 'assistant' || !message.toolCalls?.some(({ opaque }) => opaque))
    return message
  const toolCalls = message.toolCalls.map(({ id, name, input }) => ({ id, name, input }))
  return { ...message, toolCalls }
}
