import { describe, expect, it } from 'vitest'
import { defuse, createDefuser } from '../../../src/features/policy/answers/defuse.ts'
import { createRandom } from '../../fakes/random.ts'
import { isNightly } from '../../setup/nightly.ts'
import { forms } from './answer-forms.ts'
import { liveReferences } from './live-references.ts'

const isNamed = (host: string): boolean => host === 'named.example'
const texts = Object.values(forms).flat()
/** The characters of the syntax of links, images and tags. */
const pieces = [
  '! [ ] ( ) < > : / // \\ " \' ` & ; # ^ * | ]( ]: [a] [a]: ![ ![a] <img <a src= href=" <!-- --> &#104; &sol;',
  'http https: https:// www. drop.example named.example /i.png?d= @ . :443 data:text/html, javascript: é 中 a',
]
  .flatMap((some) => some.split(' '))
  .concat([' ', '\n', '\n\n', '\t', '\u200b', 'x y', '> ', '- ', '1. ', '    ', '```'])

/** The same text by pieces. */
function streamed(pieces: readonly string[]): string {
  const { push, end } = createDefuser(isNamed)
  return pieces.map(push).join('') + end()
}

/** Forms of which only clients make links that look for host names in plain text. */
const bareForms = [
  'drop.example:8443/?d=CANARY-7351',
  '_drop.example/?d=CANARY-7351_',
  'see _drop.example/?d=CANARY-7351_.',
  'drop.example\\:8443/?d=CANARY-7351',
  'drop\u00e9.example/?d=CANARY-7351',
  'drop.ex\u00e1mple/?d=CANARY-7351',
  'drop.\u4e2d\u56fd/?d=CANARY-7351',
  'drop.\u4e2d\u56fd:8443/?d=CANARY-7351',
]

describe('an answer that would have a client fetch something', () => {
  it.for(Object.keys(forms))('T12: has nothing live in it any more: %s', (name) => {
    expect(forms[name]!.some((text) => liveReferences(text).length > 0)).toBe(true)
    for (const text of forms[name]!) {
      expect([text, liveReferences(defuse(text, isNamed), isNamed)]).toEqual([text, []])
    }
  })

  it.for(bareForms)('T12: names no host that a client could make a link of: %s', (text) => {
    const inert = defuse(text, isNamed)
    expect(inert).toMatch(/\[\.\]|[^ ] [/:]/)
    expect(defuse(inert, isNamed)).toBe(inert)
  })

  it.for([
    'this and/or that',
    'a_b.c',
    '\u0438/\u0438\u043b\u0438',
    '\u4e2d\u6587/abc',
    'v1.2:3',
    'at 10:30.',
  ])('leaves alone what is none: %s', (text) => expect(defuse(text, isNamed)).toBe(text))

  it.for(['![a](/logo.png?d=x)', '![a](x.png)', '![a][b]'])(
    'T12: loads no picture, also none of the place it is shown at: %s',
    (text) => expect(defuse(text, isNamed)).toBe(text.replace('!', '! ')),
  )

  it('stays JSON where it was, however long', () => {
    const { int } = createRandom(7)
    const numbers = Array.from({ length: 3_000 }, () => int(0, 1_000_000_000))
    const long = { numbers, text: '\\"'.repeat(3_000), '\u0001': ['a'.repeat(5_000), true, null] }
    expect(JSON.parse(defuse(JSON.stringify(numbers), isNamed))).toEqual(numbers)
    const made = JSON.parse(defuse(JSON.stringify(long), isNamed))
    expect(made).toMatchObject({ numbers })
    for (const text of ['\u0001', '\\', '"'])
      for (let at = 2_030; at < 2_060; at += 1)
        expect(() =>
          JSON.parse(defuse(JSON.stringify(['a'.repeat(at) + text.repeat(9)]), isNamed)),
        ).not.toThrow()
  })

  it('T12: becomes the same however it is split', () => {
    for (const text of [
      ...texts,
      ...bareForms,
      JSON.stringify(Array.from({ length: 1_500 }, (_, at) => at)),
    ]) {
      const whole = defuse(text, isNamed)
      expect(streamed(text.split(''))).toBe(whole)
      // A long one is all alike before its end.
      for (let at = Math.max(0, text.length - 100); at <= text.length; at += 1) {
        if (streamed([text.slice(0, at), text.slice(at)]) !== whole)
          expect([text, at]).toBe('the same')
      }
    }
  })

  it('T12: has nothing live in it whatever pieces it is made of', () => {
    const { int } = createRandom(20_261_123)
    const pick = (from: readonly string[]) => from[int(0, from.length - 1)]!
    const count = isNightly ? 20_000 : 400
    let live = 0
    for (let made = 0; made < count; made += 1) {
      const text = Array.from({ length: int(2, 9) }, () =>
        pick(made % 4 === 0 ? texts : pieces),
      ).join('')
      if (liveReferences(text).length > 0) live += 1
      const inert = defuse(text, isNamed)
      expect([text, inert, liveReferences(inert, isNamed)]).toEqual([text, inert, []])
      const at = int(0, text.length)
      expect(streamed([text.slice(0, at), text.slice(at)])).toBe(inert)
      // Nor does a second reading find what the first one made.
      expect(liveReferences(defuse(inert, isNamed), isNamed)).toEqual([])
    }
    expect(live).toBeGreaterThan(count / 10)
  })
})
