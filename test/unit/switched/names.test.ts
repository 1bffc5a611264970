import { expect, it } from 'vitest'
import { createSessionGateway } from '../../../src/runtime/session/gateway.ts'
import { keyedRunId } from '../../../src/runtime/session/storage/ids.ts'
import { sha256 } from '../../fakes/kernel.ts'

it.each([
  [['a', 'b'], ['a:b']],
  [
    ['ab', 'c'],
    ['a', 'bc'],
  ],
  [['1', 'a'], ['1:a']],
])('T2: the parts %j and %j name two sessions', async (one, other) => {
  const { idFor } = createSessionGateway({ namespace: { getByName: () => ({}) }, sha256 })
  expect(await idFor('named', one)).not.toBe(await idFor('named', other))
})

it('T2: a key names another run for another principal, session or key, whatever they hold', () => {
  const ids = [
    ['s', 'a', 'b:c'],
    ['s', 'a:b', 'c'],
    ['s:a', 'b', 'c'],
    ['sa', 'b', 'c'],
  ].map(([session = '', principal = '', key = '']) =>
    keyedRunId({ session, principal, key }, sha256),
  )
  expect(new Set(ids).size).toBe(4)
})
