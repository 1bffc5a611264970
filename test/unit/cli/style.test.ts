import { expect, it } from 'vitest'
import { createStyle } from '../../../cli/chat/view.ts'
import { hasColour } from '../../../scripts/style.mjs'

const terminal = { isTTY: true }
const pipe = {}

it('colours a terminal and leaves a pipe alone', () => {
  expect(createStyle(terminal, {}).red('no')).toBe('\u001b[31mno\u001b[39m')
  expect(createStyle(pipe, {}).red('no')).toBe('no')
})

it.each([
  ['NO_COLOR', { NO_COLOR: '1' }, false],
  ['NO_COLOR set to nothing', { NO_COLOR: '' }, true],
  ['TERM=dumb', { TERM: 'dumb' }, false],
  ['FORCE_COLOR=0', { FORCE_COLOR: '0' }, false],
])('heeds %s in a terminal', (_name, env, isColoured) => {
  expect(hasColour(terminal, env)).toBe(isColoured)
})

it('heeds FORCE_COLOR in a pipe, also beside NO_COLOR', () => {
  expect(hasColour(pipe, { FORCE_COLOR: '1' })).toBe(true)
  expect(hasColour(pipe, { FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(true)
  expect(hasColour(pipe, { FORCE_COLOR: '' })).toBe(false)
})
