import { describe, expect, it } from 'vitest'
import {
  createReplyRedactor,
  maxSearchWork,
} from '../../../../src/features/plugins/secrets/reply-redactor.ts'
import { maxSecrets } from '../../../../src/features/plugins/admission/parse-bundle.ts'

const odd = 'kéy-7/"Q&z+9\\ü😀_end'
const token = 'sk_live_51Hq8ZxKTbN0'
const { text, bytes } = createReplyRedactor([odd, token])

const php = (one: string) =>
  JSON.stringify(one)
    .replaceAll('/', '\\/')
    .replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** What a server says that answers, logs or shows what it was sent. */
const written: readonly (readonly [string, (text: string) => string])[] = [
  ['as it is', (one) => one],
  ['JSON', (one) => JSON.stringify({ one })],
  ['JSON in JSON', (one) => JSON.stringify(JSON.stringify({ one }))],
  ['JSON in ASCII with slashes escaped', php],
  ['JSON for HTML', (one) => JSON.stringify(one).replaceAll('&', '\\u0026')],
  ['an address', (one) => `https://a.example/?q=${encodeURIComponent(one)}`],
  ['a path', (one) => `https://a.example/${encodeURI(one)}`],
  ['a form', (one) => new URLSearchParams({ one }).toString()],
  ['a page', (one) => one.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
  ['an Authorization header', (one) => Buffer.from(`user:${one}`).toString('base64')],
  ['base64 for addresses', (one) => Buffer.from(`a:${one}:b`).toString('base64url')],
]

describe('what a host answers', () => {
  describe.each([odd, token])('T4: nothing is left of %s', (one) => {
    it.each(written)('in %s', (_name, write) => {
      const form = write(one)
      const left = text(`before ${form} after`)
      expect(left).toMatch(/^before .*after$/s)
      expect(left).toContain('[redacted]')
      expect(left).not.toContain(form)
      expect(Buffer.from(bytes(Buffer.from(form))).toString()).not.toContain(form)
    })
  })

  it.each(['100% of it', '\\u0073k_live_else', '&#115;k_live_51', 'a%73b', '&&&&', '\\\\\\'])(
    'leaves %s as it is',
    (other) => expect(text(other)).toBe(other),
  )

  it.each([`${token}\n`, ` ${token}`, `\t${token}\r\n`])(
    'T4: takes a value out that a header had without the space around it: %j',
    (value) => {
      const one = createReplyRedactor([value])
      expect(one.text(`got ${token}.`)).toBe('got [redacted].')
      expect(one.text(Buffer.from(`u:${token}`).toString('base64'))).not.toContain('bGl2ZV')
      expect(one.text(JSON.stringify(value))).not.toContain(token)
    },
  )

  it('a value of nothing but space is one, too', () => {
    expect(createReplyRedactor(['      ']).text('a      b')).toBe('a******b')
  })

  it('T4: takes two values out that stand side by side', () => {
    expect(text(token + encodeURIComponent(odd))).toBe('[redacted][redacted]')
  })
})

describe('T26: the search for secrets has an end:', () => {
  const tokens = Array.from({ length: maxSecrets }, (_, at) => `${token}x${at}`)

  it.each([
    ['a token of letters and digits, once 25 forms and two readings of each byte', [token], 7],
    ['any other text, once 113', [odd], 24],
    ['as many tokens as there may be', tokens, 7 * maxSecrets],
  ])('%s', (_what, values, most) => {
    expect(createReplyRedactor(values).forms).toBeLessThanOrEqual(most)
  })

  it('the largest reply is searched for as many tokens as there may be', () => {
    expect(createReplyRedactor(tokens).forms * 2 * 1024 * 1024).toBeLessThanOrEqual(maxSearchWork)
  })

  it('and what would take more is not handed on', () => {
    const values = Array.from({ length: maxSecrets }, (_, at) => `${odd}${at}`)
    const redactor = createReplyRedactor(values)
    const most = Math.floor(maxSearchWork / redactor.forms)
    expect(redactor.text('a'.repeat(most))).toHaveLength(most)
    expect(() => redactor.text('a'.repeat(most + 1))).toThrow('too large to be searched')
  })
})
