import { describe, expect, it } from 'vitest'
import { joinLabels, labelFrom, saidLabel, type Label } from '#contracts/label.ts'
import { networkRuleSchema } from '../../../../src/runtime/kernel/types/network-rule.ts'
import { createMayFollow } from '../../../../src/features/plugins/capabilities/open-network.ts'

const follows = (label: Label | undefined, host: string, hosts: readonly string[] = ['*']) => {
  const network = { rule: async () => networkRuleSchema.parse({ hosts }), ownHosts: [] }
  const to = { method: 'GET', url: `https://${host}/x?d=1` }
  return createMayFollow(network, label)(to, new URL('https://a.example/'))
}

describe('a redirect to another host', () => {
  const page = labelFrom('http__get b.example', { confidentiality: 'public' })
  const read = joinLabels([saidLabel, page])

  it('is followed where no stranger can have asked for it', async () => {
    expect(await follows(saidLabel, 'evil.example')).toBe(true)
  })

  it('T11: is followed with a stranger’s text only to where that is from, or to a host that was named', async () => {
    expect(await follows(read, 'evil.example')).toBe(false)
    expect(await follows(undefined, 'evil.example')).toBe(false)
    expect(await follows(read, 'b.example')).toBe(true)
    expect(await follows(read, 'example')).toBe(false)
    expect(await follows(read, 'evil.example', ['*', 'evil.example'])).toBe(true)
    expect(await follows(read, 'x.evil.example', ['*.evil.example'])).toBe(true)
    expect(await follows(read, 'www.a.example')).toBe(true)
  })

  it('T11: takes private data to no other place than the one that all of it is from', async () => {
    const inA = labelFrom('http__get a.example')
    const inB = labelFrom('http__get b.example')
    const named = ['*', 'b.example']
    expect(await follows(joinLabels([inA, page]), 'b.example')).toBe(false)
    expect(await follows(joinLabels([inA, page]), 'b.example', named)).toBe(false)
    expect(await follows(joinLabels([inA, inB]), 'b.example')).toBe(false)
    expect(
      await follows(
        joinLabels([inB, labelFrom('http__get c.example', { confidentiality: 'public' })]),
        'b.example',
      ),
    ).toBe(true)
  })
})
