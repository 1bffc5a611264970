import { describe, expect, expectTypeOf, it } from 'vitest'
import { defined } from '../../../src/contracts/defined.ts'

describe('defined', () => {
  it('leaves out a field that is undefined, in the order of the others', () => {
    const title: string | undefined = undefined
    expect(Object.keys(defined({ b: 1, title, a: 2 }))).toEqual(['b', 'a'])
  })

  it('keeps null, empty text, zero and false', () => {
    const values = { nothing: null, text: '', count: 0, isOpen: false }
    expect(defined(values)).toStrictEqual(values)
  })

  it('leaves a field of an object before it as it was', () => {
    const model: string | undefined = undefined
    expect({ model: 'a', ...defined({ model }) }).toStrictEqual({ model: 'a' })
  })

  it('makes a field that may be undefined optional, and no other', () => {
    const given = { id: 'a', title: undefined as string | undefined }
    expectTypeOf(defined(given)).toEqualTypeOf<{ id: string } & { title?: string }>()
  })
})
