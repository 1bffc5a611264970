import { describe, expect, it } from 'vitest'
import type { Message } from '#contracts/message.ts'
import { fromParts } from '../../../src/surfaces/openai/types.ts'
import { type MessagePart } from '../../../src/platform/models/types.ts'
import { createBodyWriter } from '../../../src/platform/models/openai/request-body.ts'

const text = (said: string): MessagePart => ({ type: 'text', text: said })
const png = 'data:image/png;base64,AA=='
const image = (detail?: 'auto' | 'low' | 'high' | 'original'): MessagePart => ({
  type: 'image',
  url: png,
  ...(detail && { detail }),
})
const user = (...parts: readonly MessagePart[]): Message => ({
  role: 'user',
  ...fromParts(parts),
  taint: ['user'],
})

interface Body {
  readonly messages: readonly {
    readonly role: string
    readonly name?: string
    readonly content: string | readonly Record<string, unknown>[]
  }[]
}

/** The messages as a server gets them. */
function sent(...messages: readonly Message[]): Body['messages'] {
  const request = { model: 'm', messages, tools: [], parameters: {} }
  const body = createBodyWriter()(request, { capField: 'max_tokens' }, {})
  return (JSON.parse(body) as Body).messages
}

const orderOf = ([message]: Body['messages']) =>
  typeof message?.content === 'string'
    ? message.content
    : message?.content.map((part) => part.text ?? 'IMAGE')

describe('all text came first, then all images', () => {
  it.each<[string, readonly MessagePart[], readonly string[]]>([
    ['by turns', [text('A'), image(), text('B'), image()], ['A', 'IMAGE', 'B', 'IMAGE']],
    [
      'an image first',
      [image(), text('ABOVE'), image(), text('BELOW')],
      ['IMAGE', 'ABOVE', 'IMAGE', 'BELOW'],
    ],
    [
      'two images side by side',
      [text('前'), image(), image(), text('後')],
      ['前', 'IMAGE', 'IMAGE', '後'],
    ],
    ['an image alone', [image()], ['IMAGE']],
    ['texts of several lines', [text('a\n\nb'), image(), text('\nc')], ['a\n\nb', 'IMAGE', '\nc']],
  ])('%s', (_what, parts, order) => {
    expect(orderOf(sent(user(...parts)))).toEqual(order)
  })

  it('and the detail that was asked for was gone', () => {
    const [message] = sent(user(image('low'), text('x'), image('high'), image(), image('original')))
    expect(message?.content).toEqual([
      { type: 'image_url', image_url: { url: png, detail: 'low' } },
      { type: 'text', text: 'x' },
      { type: 'image_url', image_url: { url: png, detail: 'high' } },
      { type: 'image_url', image_url: { url: png } },
      { type: 'image_url', image_url: { url: png, detail: 'original' } },
    ])
  })
})

describe('speakers had no names', () => {
  it.each([
    ['Adam', { name: 'Adam', content: 'Hi' }],
    ['user_2-b', { name: 'user_2-b', content: 'Hi' }],
    ['', { content: 'Hi' }],
    ['José García', { content: 'José García: Hi' }],
    ['李雷', { content: '李雷: Hi' }],
    ['a'.repeat(65), { content: `${'a'.repeat(65)}: Hi` }],
  ])('%j, of which services take letters, digits, _ and - alone', (name, expected) => {
    const both = sent(
      { role: 'user', text: 'Hi', name, taint: ['user'] },
      { role: 'assistant', text: 'Hi', name, taint: ['user', 'model'] },
    )
    expect(both).toEqual([
      { role: 'user', ...expected },
      { role: 'assistant', ...expected },
    ])
  })

  it('beside a picture, too', () => {
    const parts = fromParts([image(), text('Hi')])
    const said: Message = { role: 'user', ...parts, name: 'Zoë B.', taint: ['user'] }
    expect(orderOf(sent(said))).toEqual(['Zoë B.:', 'IMAGE', 'Hi'])
  })

  it('and nothing is put before a call', () => {
    const toolCalls = [{ id: 'a', name: 't', input: {} }]
    const calls: Message = {
      role: 'assistant',
      text: '',
      name: 'Zoë B.',
      toolCalls,
      taint: ['model'],
    }
    expect(sent(calls)).toMatchObject([{ role: 'assistant', content: null }])
  })
})
