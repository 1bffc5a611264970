import { expect, it } from 'vitest'
import { createLineFilter } from '../../../scripts/server-output.mjs'

const said = [
  '\u001b[33mkj = kj/compat/http.c++:12: disconnected: Connection reset by peer',
  '',
  '  stack: /somewhere/workerd@2',
  '',
  '\u001b[31m✘ \u001b[41;31m[ERROR]\u001b[0m something of ours broke',
  '',
  '    at main.ts:1',
  '',
  '✘ [ERROR] kj = kj/async-io-unix.c++:186: disconnected: ::write(fd): Broken pipe',
  '  stack: /somewhere/workerd@1',
  '',
  '{"level":"info"}',
]

it('leaves out warnings without a remedy, and keeps errors whole', () => {
  const pick = createLineFilter()
  expect(said.map(pick).filter((line) => line !== undefined)).toEqual([
    '✘ [ERROR] something of ours broke',
    '',
    '    at main.ts:1',
    '',
    '{"level":"info"}',
  ])
})

it('keeps colour for a terminal only', () => {
  const error = said[4] ?? ''
  expect(createLineFilter({ isColoured: true })(error)).toBe(error)
  expect(createLineFilter()(error)).toBe('✘ [ERROR] something of ours broke')
})
