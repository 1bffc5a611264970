import { expect, it } from 'vitest'
import { createWithoutWords } from '../../../src/runtime/session/forgetting.ts'

const note = 'Ada grows blue periwinkles on the balcony of her aunt in Ghent'
const without = createWithoutWords([note])

it('takes a text out wherever it is quoted: cut, in other lines, in JSON', () => {
  expect(without(`I read: ${note}. So?`)).toBe('I read: [forgotten]. So?')
  expect(without('Ada grows blue periwinkles on the bal… (cut)')).toBe('[forgotten] bal… (cut)')
  expect(without('ADA grows\nblue  periwinkles, on the balcony')).toBe('[forgotten]')
  const json = JSON.stringify({ text: note.replace('blue', 'blue\n') })
  expect(without(JSON.stringify({ json }))).toBe(JSON.stringify({ json: '{"text":"[forgotten]"}' }))
})

it('leaves what only has some of its words', () => {
  const other = 'Ben grows blue periwinkles, and her aunt lives in Ghent.'
  expect(without(other)).toBe(other)
})

it('a short text goes where all its words are together; a common text only where it is the whole', () => {
  const short = createWithoutWords(['likes green tea', 'yes', 'vegetarian'])
  expect(short('Ada likes green tea, yes')).toBe('Ada [forgotten], yes')
  expect(short('green tea')).toBe('green tea')
  expect(short('yes')).toBe('[forgotten]')
  expect(short('is vegetarian')).toBe('is [forgotten]')
})

it('a text that is named as a whole goes only where it is all of a text', () => {
  const some = createWithoutWords([{ whole: 'completed' }, { whole: 'not found' }])
  expect(some('completed')).toBe('[forgotten]')
  expect(some('The run completed; the page was not found.')).toBe(
    'The run completed; the page was not found.',
  )
})
