import { describe, expect, it } from 'vitest'
import {
  createEventDecoder,
  type StreamEvent,
} from '../../../src/platform/models/openai/request-once.ts'

const utf8 = new TextEncoder()

/** Reads the events of a stream that comes in these pieces. */
function read(pieces: readonly (string | Uint8Array)[]): readonly StreamEvent[] {
  const decoder = createEventDecoder()
  const events = pieces.flatMap((piece) =>
    decoder.push(typeof piece === 'string' ? utf8.encode(piece) : piece),
  )
  return [...events, ...decoder.end()]
}

const dataOf = (...pieces: readonly (string | Uint8Array)[]): readonly string[] =>
  read(pieces).map(({ data }) => data)

describe('a stream of events', () => {
  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('is the same with lines that end in %s, wherever its bytes are cut', (_name, end) => {
    const lines = [': hello', 'event: note', 'data: {"a":', 'data: "€ 😀"}', '', 'data: 2', '', '']
    const bytes = utf8.encode(`\ufeff${lines.join(end)}`)
    const expected = [
      { type: 'note', data: '{"a":\n"€ 😀"}' },
      { type: '', data: '2' },
    ]
    for (let at = 0; at <= bytes.length; at += 1)
      expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected)
    expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(expected)
  })

  it('may mix its line ends', () => {
    expect(dataOf('data: 1\r\n\ndata: 2\n\r\ndata: 3\r\rdata: 4\n\n')).toEqual(['1', '2', '3', '4'])
  })

  it('has no event without data, whatever else is said', () => {
    expect(read(['event: ping\n\n: wait\n\nid: 7\nretry: 10\n\n\n\ndata: 1\n\n'])).toEqual([
      { type: '', data: '1' },
    ])
  })

  it('has data that begin after one space at most, and may be empty', () => {
    expect(dataOf('data:1\n\ndata:  2\n\ndata:\n\ndata\n\ndata: a:b\n\n')).toEqual([
      '1',
      ' 2',
      '',
      '',
      'a:b',
    ])
  })

  it('loses its byte order mark at the beginning only', () => {
    expect(dataOf('\ufeffdata: 1\n\n\ufeffdata: 2\n\ndata: \ufeff3\n\n')).toEqual(['1', '\ufeff3'])
  })

  it('ends with what was begun, also within a character', () => {
    expect(dataOf('data: 1\n\ndata: 2')).toEqual(['1', '2'])
    expect(dataOf('data: 1\n')).toEqual(['1'])
    expect(dataOf('data: 1\n\n')).toEqual(['1'])
    expect(dataOf('data: ', Uint8Array.of(0xe2, 0x82))).toEqual(['\ufffd'])
  })
})
