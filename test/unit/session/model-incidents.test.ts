import { expect, it } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import { createSessionWorld } from '../../switches/session-world.ts'

it.each([
  ['a model that nobody serves, named by the caller', 'model_not_found', 'x/y', []],
  ['a model that nobody serves, of the settings', 'model_not_found', undefined, ['model_failing']],
  ['a server that is down', 'model_network', 'x/y', ['model_failing']],
] as const)('of what an operator hears: %s', async (_what, code, model, kinds) => {
  const { wake, told } = createSessionWorld({
    script: () => {
      throw new IsolaError(code, 'No.')
    },
  })
  const { live } = await wake({ id: 'ses_1' }).take({ ...(model && { model }) })
  await live?.done
  expect(told.map(({ kind }) => kind)).toEqual(kinds)
})
