import { describe, expect, it } from 'vitest'
import { fromParts } from '../../../src/surfaces/openai/types.ts'
import { toParts, type MessagePart } from '../../../src/platform/models/types.ts'

const text = (said: string): MessagePart => ({ type: 'text', text: said })
const image = (url: string): MessagePart => ({ type: 'image', url })

describe('what a message is made of', () => {
  it.each<[string, readonly MessagePart[]]>([
    ['a text', [text('Hello')]],
    ['a picture', [image('a')]],
    ['a text, then a picture', [text('Look'), image('a')]],
    ['a picture, then a text', [image('a'), text('What is it?')]],
    ['both by turns', [text('BEFORE'), image('a'), text('AFTER'), image('b')]],
    ['both by turns, a picture first', [image('a'), text('ABOVE'), image('b'), text('BELOW')]],
    ['pictures side by side', [text('x'), image('a'), image('b'), text('y'), image('a')]],
    ['line breaks at the seams', [text('x\n'), image('a'), text('\ny'), image('b'), text('\n\nz')]],
    ['a picture between two line breaks', [text('\n'), image('a'), text('\n')]],
    ['other scripts', [text('これは'), image('a'), text('何ですか 🤔'), image('b'), text('Où ?')]],
    ['a detail', [{ type: 'image', url: 'a', detail: 'low' }, text('x')]],
  ])('comes back in its order: %s', (_what, parts) => {
    expect(toParts(fromParts(parts))).toEqual(parts)
  })

  it('has its texts in one, as every reader of a transcript finds them', () => {
    expect(fromParts([text('BEFORE'), image('a'), text('AFTER'), image('b')])).toEqual({
      text: 'BEFORE\nAFTER',
      images: [{ url: 'a', offset: 6 }, { url: 'b' }],
    })
  })

  it('joins texts that stand side by side, and leaves empty ones out', () => {
    const said = fromParts([text(''), text('a'), text(''), text('b'), image('i'), text('')])
    expect(said).toEqual({ text: 'a\nb', images: [{ url: 'i' }] })
    expect(toParts(said)).toEqual([text('a\nb'), image('i')])
  })

  it('a text without pictures has none', () => {
    expect(fromParts([text('a')])).toEqual({ text: 'a' })
    expect(fromParts([])).toEqual({ text: '' })
    expect(toParts({ text: '' })).toEqual([])
  })

  it('a place behind the text is its end', () => {
    const images = [{ url: 'a', offset: 99 }]
    expect(toParts({ text: 'x', images })).toEqual([text('x'), image('a')])
  })
})
