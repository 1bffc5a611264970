import { expect, it } from 'vitest'
import { hasHidden } from '../../../src/features/skills/types.ts'
import { hasHiddenInLine, placeOf } from '../../../src/features/plugins/types/visible-text.ts'
import {
  hiddenPart,
  hiddenProblem,
  jsonWithCodes,
  linesWithCodes,
  toVisible,
} from '../../../src/contracts/visible-text.ts'
import { cpuMs } from '../../fakes/cpu-ms.ts'

it.each([
  ['a blank of braille', '\u2800', '\\u{2800}'],
  ['a blank that does not break', '\u00a0', '\\u{a0}'],
  ['a wide blank', '\u3000', '\\u{3000}'],
  ['a blank of ogham', '\u1680', '\\u{1680}'],
  ['a letter of nobody', '\ue000', '\\u{e000}'],
  ['a filler', '\u3164', '\\u{3164}'],
  ['what spells one', '\\u{2800}', '\\\\u{2800}'],
])('T3: a text for a person shows %s as its code', (_what, text, shown) => {
  expect(toVisible(`a b${text}c`)).toBe(`a b${shown}c`)
})

const hiding: readonly (readonly [what: string, text: string, code: string])[] = [
  ['letters of tags', 'Be kind.\u{e0049}\u{e0067}', 'U+E0049'],
  ['no width', 'Be\u200bkind.', 'U+200B'],
  ['a joiner between Latin letters', 'ad\u200dmin', 'U+200D'],
  ['a joiner that keeps Latin letters apart', 'ad\u200cmin', 'U+200C'],
  ['two joiners in a row', '\u0645\u06cc\u200c\u200c\u062e', 'U+200C'],
  ['bits in emoji selectors', '❤️\ufe0f\ufe0f', 'U+FE0F'],
  ['bits in selectors after a letter', 'a\ufe0fb', 'U+FE0F'],
  ['a selector after a full stop', 'Be kind.\ufe0f', 'U+FE0F'],
  ['a selector after a bracket', '(\ufe0f a)', 'U+FE0F'],
  ['a selector after a sign of money', '$\ufe0f5', 'U+FE0F'],
  ['a selector after an accent', 'a^\ufe0f', 'U+FE0F'],
  ['a selector after a comma of Japanese', '\u3001\ufe0f', 'U+FE0F'],
  ['a selector after a digit that is no keycap', '1\ufe0f2', 'U+FE0F'],
  ['a selector after # that is no keycap', '#\ufe0ftag', 'U+FE0F'],
  ['bits in selectors of letters', 'a\u{e0120}\u{e0121}', 'U+E0120'],
  ['text that runs backwards', 'a \u202e b', 'U+202E'],
  ['an isolate', 'a \u2066 b', 'U+2066'],
  ['a filler of Hangul', 'a\u3164b', 'U+3164'],
  ['a wide filler', 'a\uffa0b', 'U+FFA0'],
  ['a soft hyphen', 'ad\u00admin', 'U+00AD'],
  ['a joiner of words', 'ad\u2060min', 'U+2060'],
  ['invisible times', 'a\u2062b', 'U+2062'],
  ['a blank of braille', 'a\u2800b', 'U+2800'],
  ['an escape', 'a\u001b[2J', 'U+001B'],
  ['a control of one byte more', 'a\u009b2J', 'U+009B'],
  ['what rubs out', 'a\u007f', 'U+007F'],
  ['another end of line', 'a\u2028b', 'U+2028'],
  ['a mark of order', 'a\ufeffb', 'U+FEFF'],
  ['a code that is kept free to be ignored', 'a\u{e0fff}b', 'U+E0FFF'],
  ['half of a character', 'a\ud83d', 'U+D83D'],
]
it.each(hiding)('I8: names %s by its code and its place', (_what, text, code) => {
  const problem = hiddenProblem(text, 'text')
  expect(problem).toContain(`${code}, at character `)
  const at = Number(problem?.match(/at character (\d+)$/)?.[1])
  expect(Array.from(text)[at - 1]?.codePointAt(0)).toBe(Number.parseInt(code.slice(2), 16))
  expect(hasHidden(text)).toBe(true)
  expect(hasHiddenInLine(text)).toBe(true)
})

it.each([
  ['Persian', 'می‌خواهم'],
  ['Hindi', 'क्‍ष'],
  ['Malayalam of old books', 'ന്‍ '],
  ['Sinhala', 'ශ්‍රී'],
  ['an emoji of several', '👩‍💻 and 👨🏽‍🚀'],
  ['a flag', '🏳️‍🌈'],
  ['an emoji with its selector', '❤️ ✔️ ☎️ ‼️ ©️ ™️ ↔️'],
  ['a key of a telephone', '1️⃣ #️⃣ *️⃣'],
  ['a Japanese name', '営業　担当'],
  ['vowel signs and accents', 'é कि あ゙ שָׁלוֹם'],
])('I8: takes %s, in a name too', (_what, text) => {
  expect(hiddenProblem(text, 'text')).toBeUndefined()
  expect(hiddenProblem(text, 'line')).toBeUndefined()
})

it('I8: takes lines, tabs and blanks of print in a text, and not in a name', () => {
  for (const text of ['a\nb', 'a\tb', 'a\r\nb', 'a\u00a0b', 'a\u202f!'])
    expect([hiddenProblem(text, 'text'), hasHiddenInLine(text)]).toEqual([undefined, true])
  expect(hiddenProblem('a\nb', 'line')).toMatch(/^must be one line.*U\+000A.*character 2/)
})

it('T3: says where in a value something hides, names of fields too', () => {
  const texts = new Set(['task'])
  const value = { task: 'a\nb', subscribes: [{ task: 'a' }, { task: 'a\u200bb' }] }
  const found = hiddenPart(value, texts)
  expect(found && placeOf(found)).toBe('subscribes[1].task')
  expect(hiddenPart({ 'a\u200b': 1 }, texts)?.problem).toMatch(/name has.*U\+200B/)
})

it('T3: a long text of one character is looked through in one go', () => {
  const timeOf = (chars: number, make: (count: number) => string) => {
    const text = make(chars)
    const times = [1, 2, 3, 4, 5].map(() => {
      const start = cpuMs()
      hasHidden(text)
      return cpuMs() - start
    })
    return Math.min(...times)
  }
  const makers = [
    '\u200c',
    '\u094d\u200d',
    '\u094d',
    '❤️',
    '\u{1f468}\u200d',
    '\n',
    ' ',
    '\u0915\u094d\u200d',
  ]
  for (const unit of makers) {
    const make = (chars: number) => unit.repeat(chars / unit.length)
    timeOf(20_000, make)
    const [short, long] = [timeOf(200_000, make), timeOf(2_000_000, make)]
    expect(long).toBeLessThan(15 * Math.max(short, 20))
  }
})

it('T3: codes in lists and in JSON leave what is written normally as it is', () => {
  const text = 'می‌خواهم ❤️ \u001b[2J\u009b \u{e0041}\u200b'
  expect(linesWithCodes(text)).toBe('می‌خواهم ❤️ \\u{1b}[2J\\u{9b} \\u{e0041}\\u{200b}')
  const json = jsonWithCodes(JSON.stringify({ text }, null, 2))
  expect(json).toContain('می‌خواهم ❤️')
  expect(json).not.toMatch(/[\u007f-\u009f\u200b]|\udb40/)
  expect(JSON.parse(json)).toEqual({ text })
})
