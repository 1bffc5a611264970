import { describe, expect, it } from 'vitest'
import { createSealing, createStateKey } from '../../../src/features/access/secrets/sealing.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { masterKeyOf, sealingSources } from '../../fakes/secrets.ts'

function keyOf(current: string | undefined) {
  const keys = { current, previous: undefined }
  return createStateKey(keys, { sealing: createSealing(keys, sealingSources), sha256 })
}

describe('the key for what clients carry', () => {
  it('T17: is that of the master key, spaces around it or not', () => {
    expect(keyOf(` ${masterKeyOf(1)}\n`)).toBe(keyOf(masterKeyOf(1)))
    expect(keyOf(masterKeyOf(2))).not.toBe(keyOf(masterKeyOf(1)))
  })

  it.each([undefined, '', '  ', 'a password'])('T17: is none without one: %j', (current) => {
    expect(keyOf(current)).toBeUndefined()
  })
})
