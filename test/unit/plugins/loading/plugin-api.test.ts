import { expect, it } from 'vitest'
import { pluginApiVersion } from '#features/plugins/types/plugin.ts'
import { checkApi, olderVersions } from '../../../../src/features/plugins/loading/plugin-api.ts'
import { bundleTools, passAll } from '../../../fakes/plugins.ts'
import { loadPlugins } from '../../../../src/features/plugins/loading/in-process-host.ts'

const [major, minor] = pluginApiVersion.split('.').map(Number) as [number, number]
const minors = Array.from({ length: minor }, (_none, at) => at)

it.each(['>=1.0 <2.0', '^1.2', '1.x', '*', `~${major}.${minor}`, `>=${major}.${minor}`])(
  'P26: %s has this API',
  (api) => {
    expect(checkApi({ api })).toBeUndefined()
  },
)

it.each(
  minors.flatMap((one) => [
    `~${major}.${one}`,
    `${major}.${one}.0`,
    `${major}.${one}`,
    `${major}.${one}.x`,
    `>=${major}.${one} <${major}.${one + 1}`,
    `<=${major}.${one}`,
  ]),
)('P26: %s, written for a release before this one, still loads with a warning', (api) => {
  expect(checkApi({ api })).toMatch(/still works, but will not for long: change the range/)
})

it('P26: the release before this one is named, however many there were', () => {
  for (const current of ['1.1.0', '1.4.0', '1.5.0', '1.12.0', '2.3.0']) {
    const [own, last] = current.split('.').map(Number) as [number, number]
    expect(checkApi({ api: `~${own}.${last - 1}` }, current)).toContain(`${own}.${last - 1}.0`)
    expect(() => checkApi({ api: `~${own}.${last + 1}` }, current)).toThrow()
    expect(() => checkApi({ api: `~${own - 1}.0` }, current)).toThrow()
  }
  expect(olderVersions('2.0.0')).toEqual([])
})

it.each([
  `>=${major + 1}.0`,
  '^0.9',
  `~${major}.${minor + 1}`,
  `>${pluginApiVersion} <${major + 1}.0`,
])('P26: %s is refused', (api) => {
  expect(() => checkApi({ api })).toThrow(
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
