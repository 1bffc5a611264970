import type { MessagePart, TextWithImages } from '#platform/models/types.ts'
import { betweenTexts } from '#platform/models/types.ts'
import type { MessageImage } from '#contracts/message.ts'

/** How closely a model looks at a picture, as OpenAI's API spells it. */
export const imageDetails = ['auto', 'low', 'high', 'original'] as const

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
