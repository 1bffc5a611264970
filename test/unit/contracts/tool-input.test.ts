import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import { toWellFormedJson } from '#contracts/well-formed.ts'
import { inputProblem } from '#contracts/tool-input.ts'

describe('A09: a model went in circles, since it was not told what was wrong with its arguments', () => {
  it.each<[string, JsonObject, string]>([
    ['a list', { '': '["Paris"]' }, 'but ["Paris"];'],
    ['a number', { '': '5' }, 'but 5;'],
    ['a text', { '': '"Paris"' }, 'but "Paris";'],
    ['half an object', { '': '{"location":' }, 'but {"location":;'],
    ['nothing, cut', { '': '' }, 'but nothing;'],
    ['a list of a client', { '': ['Paris'] }, 'but ["Paris"];'],
    ['a long text', { '': 'x'.repeat(100) }, `but ${'x'.repeat(60)};`],
  ])('%s', (_what, input, words) => {
    expect(inputProblem(input)).toContain(words)
    expect(inputProblem(input)).toContain('{"name": "value"}')
  })

  it('an object of its own has no problem, also with a property without a name', () => {
    for (const input of [{}, { a: 1 }, { '': 1, a: 2 }, { ',': 1 }])
      expect(inputProblem(input)).toBeUndefined()
  })
})

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
