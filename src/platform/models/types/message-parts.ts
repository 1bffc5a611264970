import type { MessageImage } from '#contracts/message.ts'

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
export const betweenTexts = '\n'

/** The parts of a message in their order: the inverse of `fromParts`. A text without images is one part. */
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
