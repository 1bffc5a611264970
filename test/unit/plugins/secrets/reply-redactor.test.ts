import { describe, expect, it } from 'vitest'
import { createReplyRedactor } from '../../../../src/plugins/secrets/reply-redactor.ts'

const value = 'kéy-7/"Q&z+9\\ü😀_end'
const plain = 'sk_live_51Hq8ZxKTbN0'
const { text, bytes } = createReplyRedactor([value, plain])

const units = (text: string) =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at).toString(16).padStart(4, '0'))
const codes = (text: string) => Array.from(text, (char) => char.codePointAt(0) ?? 0)

const written: readonly (readonly [string, (text: string) => string])[] = [
  [
    'every character as \\u',
    (one) =>
      units(one)
        .map((unit) => `\\u${unit}`)
        .join(''),
  ],
  [
    'the same in JSON within JSON',
    (one) =>
      units(one)
        .map((unit) => `\\\\u${unit}`)
        .join(''),
  ],
  [
    'every other character as \\u',
    (one) =>
      Array.from(one, (char, at) =>
        at % 2
          ? char
          : units(char)
              .map((unit) => `\\u${unit.toUpperCase()}`)
              .join(''),
      ).join(''),
  ],
  [
    'decimal entities',
    (one) =>
      codes(one)
        .map((code) => `&#${code};`)
        .join(''),
  ],
  [
    'hex entities with zeros',
    (one) =>
      codes(one)
        .map((code) => `&#x00${code.toString(16)};`)
        .join(''),
  ],
  ['one entity', (one) => `&#${one.codePointAt(0)};${Array.from(one).slice(1).join('')}`],
  [
    'some percent escapes',
    (one) =>
      Array.from(one, (char, at) =>
        at % 3
          ? char
          : Array.from(new TextEncoder().encode(char), (byte) => `%${byte.toString(16)}`).join(''),
      ).join(''),
  ],
  [
    'base64 in lines',
    (one) => Buffer.from(`user:${one}`).toString('base64').replace(/.{5}/g, '$&\r\n'),
  ],
  [
    'base64 in lines, in JSON',
    (one) => JSON.stringify(Buffer.from(`user:${one}`).toString('base64').replace(/.{7}/g, '$&\n')),
  ],
  [
    'base64 of base64',
    (one) => Buffer.from(Buffer.from(one).toString('base64')).toString('base64'),
  ],
]

describe('what a host answers', () => {
  describe.each([value, plain])('T4: nothing is left of %s', (one) => {
    it.each(written)('written as %s', (_name, write) => {
      const form = write(one)
      const left = text(`before ${form} after`)
      expect(left).toMatch(/^before .*after$/s)
      expect(left).toContain('[redacted]')
      // Of base64 the ends may stay, which also hold a part of what is around.
      expect(left.length).toBeLessThan('before [redacted] after'.length + 24)
      expect(Buffer.from(bytes(Buffer.from(form))).toString()).not.toContain(form)
    })
  })

  it.each(['100% of it', '\\u0073k_live_else', '&#115;k_live_51', 'a%73b', '&&&&', '\\\\\\'])(
    'leaves %s as it is',
    (other) => expect(text(other)).toBe(other),
  )

  it('T4: takes two values out that stand side by side, each in a writing of its own', () => {
    expect(text(`\\u0073${plain.slice(1)}${plain.slice(0, 3)}%6c${plain.slice(4)}`)).toBe(
      '[redacted][redacted]',
    )
  })

  it.each(['\\', '\\%&#115', ' ', '\\r\\', '&', '%'])(
    'T26: takes the time of its length for many of %j',
    (piece) => {
      const long = piece.repeat(Math.ceil(1_000_000 / piece.length))
      expect(text(long)).toBe(long)
    },
  )

  it('T26: hands nothing on that would take longer, such as a value that its own text repeats', () => {
    const redactor = createReplyRedactor([`${'a'.repeat(1_000)}b`])
    // Ten million letters to compare: over what is allowed, and soon done where nothing stops it.
    expect(() => redactor.text(`%${'a'.repeat(10_000)}`)).toThrow('cannot be searched')
  })
})
