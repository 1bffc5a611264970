import { expect, it } from 'vitest'
import { pluginApiVersion } from '#contracts/plugin.ts'
import { checkApi } from '../../../../src/plugins/loading/plugin-api.ts'
import { bundleTools, passAll } from '../../../fakes/plugins.ts'
import { loadPlugins } from '../../../../src/plugins/loading/in-process-host.ts'

const served = { current: '1.4.0', deprecated: ['1.3.0', '1.2.0'] }

it.each(['>=1.0 <2.0', '^1.2', '1.x', '*', '~1.4', '>=1.4'])('P26: %s has this API', (api) => {
  expect(checkApi({ api }, served)).toBeUndefined()
})

it.each(['~1.3', '1.2.0', '>=1.0 <1.4'])('P26: %s still loads, with a warning', (api) => {
  expect(checkApi({ api }, served)).toMatch(/still works, but will not for long: change the range/)
})

it.each(['~1.1', '1.0.0', '>=2.0', '^0.9', '>1.4.0 <2.0'])('P26: %s is refused', (api) => {
  expect(() => checkApi({ api }, served)).toThrow(
    expect.objectContaining({ code: 'plugin_contract_mismatch', param: 'api' }) as Error,
  )
})

it('P26: a plugin of the API before this one is on, and listed', () => {
  const load = (api: string) =>
    loadPlugins([bundleTools({ go: async () => 1 }, { api })], { validator: passAll })
  const { plugins, problems, warnings } = load('~1.0')
  expect([plugins.length, problems, warnings]).toEqual([
    1,
    [],
    [expect.objectContaining({ plugin: 'demo', code: 'plugin_api_deprecated' })],
  ])
  expect(load(`>=${pluginApiVersion}`).warnings).toEqual([])
  expect(load('>=9').plugins).toEqual([])
})
