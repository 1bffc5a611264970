import { expect, it } from 'vitest'
import { toVisible } from '../../../src/contracts/visible-text.ts'

it.each([
  ['a blank of braille', '\u2800', '\\u{2800}'],
  ['a blank that does not break', '\u00a0', '\\u{a0}'],
  ['a wide blank', '\u3000', '\\u{3000}'],
  ['a blank of ogham', '\u1680', '\\u{1680}'],
  ['a letter of nobody', '\ue000', '\\u{e000}'],
  ['a filler', '\u3164', '\\u{3164}'],
  ['what spells one', '\\u{2800}', '\\\\u{2800}'],
])('T3: what a person is shown has %s as its code', (_what, text, shown) => {
  expect(toVisible(`a b${text}c`)).toBe(`a b${shown}c`)
})
