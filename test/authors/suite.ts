import { expect, it } from 'vitest'
import { bundle, hash, host } from 'under-test:plugin'
import { isolates } from './isolates.ts'
import { loadUnderTest } from './testing.ts'
import 'under-test:tests'

it(`loads, ${host}`, () => {
  expect(loadUnderTest().manifest.id).toBeTruthy()
})

it.runIf(host === 'isolate' && bundle.code !== undefined)(
  'registers on an island what plugin.yaml says',
  async () => {
    const { manifest } = loadUnderTest()
    const code = bundle.code ?? ''
    await isolates.inspect({ manifest, hash, code, tier: 'community', grantEpoch: 0 })
  },
)
