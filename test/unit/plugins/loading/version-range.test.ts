import { expect, test } from 'vitest'
import { isInRange } from '../../../../src/features/plugins/loading/plugin-api.ts'

test.each([
  ['1.0.0', '>=1.0 <2.0', true],
  ['2.0.0', '>=1.0 <2.0', false],
  ['1.4.2', '>= 1.2.0 < 2', true],
  ['1.0.0', '>1.0.0', false],
  ['1.0.0', '<=1.0', true],
  ['1.9.0', '^1.2', true],
  ['2.0.0', '^1.2', false],
  ['0.3.0', '^0.2.1', false],
  ['0.2.9', '^0.2.1', true],
  ['0.0.2', '^0.0.1', false],
  ['1.2.9', '~1.2', true],
  ['1.3.0', '~1.2', false],
  ['1.0.0', '1', true],
  ['1.0.0', '1.x', true],
  ['1.0.0', '1.0.0', true],
  ['1.0.1', '1.0.0', false],
  ['1.0.0', '*', true],
  ['1.0.0', 'latest', undefined],
  ['1.0.0', '', undefined],
  ['1.0.0', '>=1 || <3', undefined],
])('%s in "%s" is %s', (version, range, expected) => {
  expect(isInRange(version, range)).toBe(expected)
})
