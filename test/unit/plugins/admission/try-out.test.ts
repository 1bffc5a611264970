import { describe, expect, it } from 'vitest'
import { pluginApiVersion } from '#features/plugins/types/plugin.ts'
import { createTryOut } from '../../../../src/features/plugins/admission/try-out.ts'
import { checkApi, olderVersions } from '../../../../src/features/plugins/loading/plugin-api.ts'

const pin = {
  id: 'old',
  hash: 'h',
  version: '1.0.0',
  tier: 'community',
  permit: {},
  grantEpoch: 1,
  config: {},
} as unknown as Parameters<ReturnType<typeof createTryOut>>[1]
const snapshot = (api: string) =>
  ({
    number: 1,
    pins: { plugin: [pin] },
    sources: {
      h: {
        manifest: { id: 'old', name: 'Old', version: '1.0.0', api, description: 'Is old.' },
        files: {},
      },
    },
  }) as unknown as Parameters<ReturnType<typeof createTryOut>>[0]

/** As the loader lists it. */
const tryOutOf = (api: string) =>
  createTryOut({
    isolates: undefined,
    wire: () => {
      try {
        const message = checkApi({ api })
        return {
          problems: message ? [{ plugin: 'old', code: 'plugin_api_deprecated', message }] : [],
        }
      } catch (error) {
        const { code, message } = error as { code: string; message: string }
        return { problems: [{ plugin: 'old', code, message }] }
      }
    },
  })(snapshot(api), pin)

describe('P26: an installed plugin that was written for an older plugin API', () => {
  const [last = ''] = olderVersions(pluginApiVersion)
  const [major, minor] = last.split('.')
  it.each([
    `~${major}.${minor}`,
    last,
    `>=${major}.${minor} <${major}.${Number(minor) + 1}`,
    ...olderVersions(pluginApiVersion).map((one) => `~${one}`),
  ])('cannot be enabled, though it only warns: %s', async (api) => {
    await expect(tryOutOf(api)).resolves.toEqual({ runsOwnAgent: false })
  })

  it('is refused for an API that does not run here', async () => {
    await expect(tryOutOf('>=9.0')).rejects.toMatchObject({ code: 'plugin_contract_mismatch' })
  })
})
