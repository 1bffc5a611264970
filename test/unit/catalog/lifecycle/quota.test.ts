import { expect, it } from 'vitest'
import { checkQuota, type Bringing } from '../../../../src/runtime/catalog/lifecycle/quota.ts'

const mib = 1024 * 1024
const quota = { maxVersions: 2, maxBytes: 10 * mib, maxAddsPerHour: 3 }
const nowMs = 10_000_000
const check = (usage: object, more: Partial<Bringing> = {}) => {
  const had = { versions: 0, bytes: 0, adds: 0, ...usage }
  return () =>
    checkQuota(quota, had, { sizeBytes: mib, isKept: false, isOperator: false, nowMs, ...more })
}

it('P21: takes what is within all limits, to the last of each', () => {
  expect(check({ versions: 1, bytes: 9 * mib, adds: 2, firstAddAtMs: nowMs })).not.toThrow()
})

it.each([
  [
    'versions',
    { versions: 2 },
    /^An author may have 2 versions .* you have 2\. .*ISOLA_AUTHOR_VERSIONS\.$/,
  ],
  [
    'bytes',
    { bytes: 9 * mib + 1 },
    /^An author may have 10 MiB .* 10\.0 MiB\. .*ISOLA_AUTHOR_MIB\.$/,
  ],
])('P21: refuses more %s, with the limit and the way on', (_what, usage, message) => {
  expect(check(usage)).toThrow(
    expect.objectContaining({
      code: 'request_insufficient_quota',
      message: expect.stringMatching(message) as string,
    }),
  )
})

it('P21: refuses one more in an hour, and says when the first of them is an hour old', () => {
  expect(check({ adds: 3, firstAddAtMs: nowMs - 1_800_000 })).toThrow(
    expect.objectContaining({
      code: 'request_rate_limited',
      retryAfterMs: 1_800_000,
      message: expect.stringMatching(
        /3 versions of plugins in an hour.*in 30 minutes.*ISOLA_AUTHOR_ADDS_PER_HOUR\.$/,
      ) as string,
    }),
  )
})

it('a version that is stored already takes no more space, and counts for the hour', () => {
  expect(check({ versions: 2, bytes: 10 * mib }, { isKept: true })).not.toThrow()
  expect(check({ adds: 3 }, { isKept: true })).toThrow('in an hour')
})

it('an operator may bring fifty times as much, and no more', () => {
  const isOperator = true
  expect(check({ versions: 99, bytes: 498 * mib, adds: 149 }, { isOperator })).not.toThrow()
  for (const usage of [{ versions: 100 }, { bytes: 500 * mib }, { adds: 150 }])
    expect(check(usage, { isOperator })).toThrow(/An operator may .*50 times/)
})
