import { describe, expect, it } from 'vitest'
import { createRequestLimits } from '../../../src/features/access/request-limits.ts'
import { sha256 } from '../../fakes/kernel.ts'

/** Counts as the platform does: by key, so many in all. */
function counter(most: number) {
  const keys: string[] = []
  return {
    keys,
    async limit({ key }: { readonly key: string }) {
      keys.push(key)
      return { success: keys.filter((one) => one === key).length <= most }
    },
  }
}

const alice = { id: 'alice', role: 'user' } as const
const open = (most: number, operatorKey = 'isk_right') => {
  const counters = { strangers: counter(most), requests: counter(most), sessions: counter(most) }
  const faults: unknown[] = []
  const onFault = (error: unknown) => void faults.push(error)
  return {
    counters,
    faults,
    limits: createRequestLimits({ counters, operatorKey, sha256, onFault }),
  }
}
const limited = { code: 'request_rate_limited', retryAfterMs: 60_000 }

describe('T27: what may be asked in a minute', () => {
  it('is limited for each principal, and for no other', async () => {
    const { limits } = open(2)
    await limits.request(alice)
    await limits.request(alice)
    await expect(limits.request(alice)).rejects.toMatchObject(limited)
    await limits.request({ id: 'bob', role: 'user' })
  })

  it('is limited for strangers by network: an IPv4 address, or the /64 of an IPv6 one', async () => {
    const { limits } = open(1)
    await limits.stranger({ address: '2001:db8:1:2::1' })
    await expect(limits.stranger({ address: '2001:db8:1:2:ff::9' })).rejects.toMatchObject(limited)
    await limits.stranger({ address: '192.0.2.1' })
    await expect(limits.stranger({ address: '192.0.2.1' })).rejects.toMatchObject(limited)
    await limits.stranger({ address: '192.0.2.2' })
  })

  it('is limited for what needs no key by network, and takes nothing of a principal', async () => {
    const { limits } = open(1)
    await limits.visitor({ address: '192.0.2.1' })
    await expect(limits.visitor({ address: '192.0.2.1' })).rejects.toMatchObject(limited)
    await limits.visitor({ address: '192.0.2.2' })
    await limits.stranger({ address: '192.0.2.1' })
    await limits.request({ id: '192.0.2.1', role: 'user' })
  })

  it('is limited for new sessions: a session that was counted is not counted again', async () => {
    const { limits } = open(1)
    await limits.newSession(alice, 'ses_1')
    await limits.newSession(alice, 'ses_1')
    await expect(limits.newSession(alice, 'ses_2')).rejects.toMatchObject(limited)
    // A refused session was not made: it is counted again.
    await expect(limits.newSession(alice, 'ses_2')).rejects.toMatchObject(limited)
    await limits.newSession(alice, 'ses_1')
  })

  it('is not limited for the operator key', async () => {
    const { limits, counters } = open(0)
    const operator = { id: 'operator', role: 'operator' } as const
    await limits.request(operator)
    await limits.newSession(operator, 'ses_1')
    expect([...counters.requests.keys, ...counters.sessions.keys]).toEqual([])
  })

  it('is counted apart for each deployment of an account, by no text that says whose it is', async () => {
    const [one, other] = [open(9, 'isk_one'), open(9, 'isk_other')]
    await one.limits.request(alice)
    await other.limits.request(alice)
    expect(one.counters.requests.keys).not.toEqual(other.counters.requests.keys)
    expect(one.counters.requests.keys[0]).not.toContain('isk_')
  })

  it('F15: lets a caller in when counting fails, and reports the fault to the operator', async () => {
    const { faults } = open(0)
    const broken = { limit: () => Promise.reject(new Error('away')) }
    const limits = createRequestLimits({
      counters: { requests: broken },
      operatorKey: 'isk_right',
      sha256,
      onFault: (error) => void faults.push(error),
    })
    await limits.request(alice)
    // No counter at all: nothing is limited.
    await limits.stranger({})
    expect(faults).toHaveLength(1)
  })
})
