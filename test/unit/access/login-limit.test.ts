import { describe, expect, it } from 'vitest'
import type { DeploymentEvent } from '../../../src/contracts/event.ts'
import type { KeyView } from '../../../src/features/access/types/keys.ts'
import type {
  FailedLogin,
  FailedLoginVerdict,
} from '../../../src/runtime/session/types/principal.ts'
import { createLoginLimit } from '../../../src/features/access/logins.ts'
import { networkOf } from '../../../src/features/access/request-limits.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { dataOf } from '../../fakes/events.ts'

const key: KeyView = {
  id: 'key_1',
  principal: 'alice',
  role: 'user',
  hint: 'isk_1234',
  createdAtMs: 1,
  revokedAtMs: 2,
}
const client = { address: '192.0.2.1', requestId: 'req_1' }

function open(verdictOf: (failed: FailedLogin) => FailedLoginVerdict = () => ({})) {
  const asked: FailedLogin[] = []
  const names: string[] = []
  const events: DeploymentEvent[] = []
  const faults: unknown[] = []
  let nowMs = 1_790_000_000_000
  const limit = createLoginLimit({
    namespace: {
      getByName: (name) => {
        names.push(name)
        return {
          loginFailed: async (failed: FailedLogin) => {
            asked.push(failed)
            return { ok: true, value: verdictOf(failed) }
          },
        }
      },
    },
    sha256,
    clock: { nowMs: () => nowMs, sleep: async () => undefined },
    log: { append: async (event) => void events.push(event) },
    onFault: (error) => void faults.push(error),
  })
  return { limit, asked, names, events, faults, tick: (ms: number) => void (nowMs += ms) }
}

describe('a failed login', () => {
  it("is counted by one object that is no principal's", async () => {
    const { limit, asked, names, events } = open()
    expect(await limit.failed(client, undefined)).toEqual({})
    await limit.failed({ ...client, address: '198.51.100.9' }, key)
    expect(asked).toEqual([{ address: '192.0.2.1' }, { address: '198.51.100.9', key: 'key_1' }])
    expect(new Set(names)).toEqual(new Set([sha256('13:failed-logins')]))
    expect(events).toEqual([])
  })

  it('I28: is on the record with why and whose, and nothing of the key', async () => {
    const { limit, events } = open((failed) => ({ record: { ...failed, count: 1 } }))
    await limit.failed(client, undefined)
    await limit.failed(client, key)
    await limit.failed(client, 'token')
    expect(events).toMatchObject([
      { type: 'login_failed', principal: '', data: { address: '192.0.2.1', reason: 'unknown' } },
      { data: { reason: 'revoked', key: 'key_1', owner: 'alice', count: 1, request: 'req_1' } },
      { data: { reason: 'token' } },
    ])
    expect(JSON.stringify(events)).not.toContain('isk_')
  })

  it('is of one bucket where the platform names no address', async () => {
    const { limit, asked } = open()
    await limit.failed({}, undefined)
    expect(asked).toEqual([{ address: 'unknown' }])
  })

  it('makes no call while its address is refused; how often is told with the next one', async () => {
    const { limit, asked, events, tick } = open((failed) => ({
      retryAfterMs: 60_000,
      record: { ...failed, count: 1 },
    }))
    expect(await limit.failed(client, undefined)).toEqual({ retryAfterMs: 60_000 })
    tick(10_000)
    for (let index = 0; index < 500; index += 1)
      expect(await limit.failed(client, undefined)).toEqual({ retryAfterMs: 50_000 })
    expect(asked).toHaveLength(1)
    tick(50_000)
    await limit.failed(client, undefined)
    expect(asked).toHaveLength(2)
    expect(events.map((event) => dataOf(event)['refused'])).toEqual([undefined, 500])
  })

  it('holds nothing against another address', async () => {
    const { limit } = open(({ address }) =>
      address === '192.0.2.1' ? { retryAfterMs: 60_000 } : {},
    )
    await limit.failed(client, undefined)
    expect(await limit.failed({ address: '192.0.2.2' }, undefined)).toEqual({})
  })

  it('stays refused when it cannot be counted, and the operator is told', async () => {
    const { limit, faults } = open(() => {
      throw new Error('overloaded')
    })
    expect(await limit.failed(client, undefined)).toEqual({})
    expect(String(faults[0])).toContain('was not counted: overloaded')
  })
})

describe('the network of an address', () => {
  it.each([
    [undefined, 'unknown'],
    [' ', 'unknown'],
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('of %j is %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})
