import { expect, it, vi } from 'vitest'
import { parseVars } from '../../../scripts/dev-vars.mjs'

it.each([
  ['a value as it stands', 'A=1', { A: '1' }],
  ['a value in quotes, with a comment behind it', 'A="x y" # why', { A: 'x y' }],
  ['a key with = at its end', 'K=AAEC+/==', { K: 'AAEC+/==' }],
  [
    'JSON in quotes',
    `P='[{"id":"a","url":"http://localhost:1/v1"}]'`,
    { P: '[{"id":"a","url":"http://localhost:1/v1"}]' },
  ],
  ['what a shell could read, too', 'export A=1\r\n  B = 2\r\n', { A: '1', B: '2' }],
  ['nothing of comments and empty lines', '# A=1\n\n', {}],
  ['an empty value', 'A=\nB=2', { A: '', B: '2' }],
  ['a value of two lines', 'A="one\ntwo"\nB=3', { A: 'one\ntwo', B: '3' }],
])('E: reads of .dev.vars %s', (_what, text, vars) => {
  expect(parseVars(text)).toEqual(vars)
})

it('says which Node it needs on one that cannot read such a file', async () => {
  vi.resetModules()
  vi.doMock('node:util', () => ({ default: {} }))
  const { parseVars: parse } = await import('../../../scripts/dev-vars.mjs')
  expect(() => parse('A=1')).toThrow(/needs Node 20\.12 or later/)
  vi.doUnmock('node:util')
})
