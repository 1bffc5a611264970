import { describe, expect, it } from 'vitest'
import { toWellFormedJson } from '../../../src/platform/models/types.ts'

describe('A12: toWellFormedJson', () => {
  it.each([
    ['a\ud83d', 'a\ufffd'],
    [{ 'k\udc00': ['\ud800', { x: 1 }] }, { 'k\ufffd': ['\ufffd', { x: 1 }] }],
    [
      ['🤔', null, true, 1],
      ['🤔', null, true, 1],
    ],
  ])('%j', (value, expected) => {
    expect(toWellFormedJson(value)).toEqual(expected)
  })

  it('gives back what has nothing to mend', () => {
    const value = { a: ['x', { b: '🤔' }] }
    expect(toWellFormedJson(value)).toBe(value)
  })
})
