import { expect, it } from 'vitest'
import { errorCode } from '#contracts/errors.ts'
import { readAnswer } from '../../../../src/features/plugins/sandbox/answer.ts'

const read = (value: unknown) => readAnswer(JSON.stringify(value), 10_000)
const thrownBy = (work: () => unknown): Error => {
  try {
    work()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}

it('reads the value of an answer', () => {
  expect(read({ value: { a: [1, null] } })).toEqual({ a: [1, null] })
})

it('T9: reads no answer that is longer than it may be, and none that is no text', () => {
  const long = JSON.stringify({ value: 'x'.repeat(10_000) })
  expect(() => readAnswer(long, 10_000)).toThrow(/more than 1 MiB/)
  for (const odd of [7, undefined, {}, { length: 3 }])
    expect(() => readAnswer(odd, 10_000)).toThrow(/more than 1 MiB/)
})

it.each([
  '',
  '{',
  '7',
  '[]',
  '{}',
  '{"value":1,"usage":{"tokens":-5}}',
  '{"error":"x"}',
  '{"error":{"code":7,"message":"x"}}',
  '{"error":{"code":"tool_failed","message":"x","pause":{}}}',
  '{"__proto__":{"value":1}}',
])('T9: takes no answer of another shape: %s', (text) => {
  expect(() => readAnswer(text, 10_000)).toThrow('returned what cannot be read')
})

it('T9: a failure is a new error from capped text', () => {
  const message = 'm'.repeat(5_000)
  const error = thrownBy(() => read({ error: { code: 'tool_failed', message, transient: true } }))
  expect(error).toMatchObject({ code: 'tool_failed', transient: true })
  expect(error.message).toHaveLength(2_000)
})

it.each(['tool_denied', 'lease_cost', 'request_invalid', 'closed', 'anything'])(
  'T9: the code %s is the host’s to give: forged, it is an error without a word',
  (code) => {
    const error = thrownBy(() => read({ error: { code, message: 'the key is sk-1' } }))
    expect(errorCode(error)).toBeUndefined()
    expect(error.message).toBe('The plugin failed.')
  },
)

it('T9: a timeout is said in our words, also if the code says it', () => {
  const error = thrownBy(() => read({ error: { code: 'timeout', message: 'the key is sk-1' } }))
  expect(error.message).toBe('did not answer in time.')
})
