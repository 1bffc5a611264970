import { describe, expect, it } from 'vitest'
import { toJson } from '../../../../src/features/plugins/sandbox/json-border.ts'

class Money {}

describe('a value that may not cross the border', () => {
  it.each([
    ['by the name that the platform gave it', new Date(0), '"at" is a Date instance'],
    ['as a class where the name is our minifier’s', new Money(), '"at" is a class instance'],
    [
      'as a class where it says that it is another',
      { constructor: 5, __proto__: {} },
      '"at" is a class instance',
    ],
  ])('is told %s', (_how, at, message) => {
    expect(() => toJson({ at })).toThrow(message)
  })
})
