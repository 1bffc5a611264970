import { describe, expect, it } from 'vitest'
import { lazily } from '../../../src/platform/routes/lazily.ts'

describe('a value that is read at the first request', () => {
  it('is read once for requests that come meanwhile', async () => {
    let reads = 0
    const ask = lazily(async () => (reads += 1))
    expect(await Promise.all([ask(), ask()])).toEqual([1, 1])
    expect(await ask()).toBe(1)
  })

  it('is read again after it could not be', async () => {
    let reads = 0
    const ask = lazily(async () => {
      reads += 1
      if (reads === 1) throw new Error('no such module')
      return 'here'
    })
    const first = await Promise.allSettled([ask(), ask()])
    expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await ask()).toBe('here')
    expect(reads).toBe(2)
  })
})
