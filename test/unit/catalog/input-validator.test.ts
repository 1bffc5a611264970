import { expect, it } from 'vitest'
import { createInputValidator } from '../../../src/runtime/catalog/schema-validator.ts'

const { validate } = createInputValidator({ validate: () => ({ ok: true }) })

it.each([
  ['{"id": 1700000000000000001}', 'id'],
  // Read as the same double as the one above: a value does not tell its text.
  ['{"id": 1700000000000000000}', 'id'],
  ['{"ids": [1, 9007199254740993]}', 'ids[1]'],
  ['{"of": {"n": -9007199254740992}}', 'of.n'],
  ['{"n": 1e400}', 'n'],
])('refuses a whole number that may have been rounded: %s', (text, path) => {
  const checked = validate({}, JSON.parse(text))
  expect(checked).toMatchObject({ ok: false, path, message: expect.stringContaining('as text') })
})

it.each(['{"n": 9007199254740991}', '{"n": 0.1}', '{"n": 0.12345678901234567890}', '{"n": 1e3}'])(
  'takes %s, a fraction as it is read',
  (text) => {
    expect(validate({}, JSON.parse(text))).toEqual({ ok: true })
  },
)
