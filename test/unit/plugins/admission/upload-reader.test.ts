import { generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  toBundleText,
  toSignedText,
  type PluginBundle,
} from '#runtime/catalog/types/plugin-upload.ts'
import { createTrustAdministration } from '../../../../src/features/access/trust-administration.ts'
import { createUploadReader } from '../../../../src/features/plugins/admission/upload-reader.ts'
import { systemSources } from '../../../../src/compose/sources.ts'
import { createMemoryTrust } from '../../../fakes/trust.ts'
import { uploadDeps } from '../../../fakes/uploads.ts'
import { dataOf } from '../../../fakes/events.ts'

const by = { principal: 'operator', trace: '', requestId: 'req_1' }
const bundleOf = (id: string, more: Record<string, unknown> = {}): PluginBundle => ({
  manifest: { id, name: 'Greeter', version: '1.0.0', description: 'Greets.', ...more },
  files: {},
})

function createSigner() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')
  const signed = (id: string, bundle: PluginBundle) => {
    const hash = systemSources.sha256(toBundleText(bundle))
    const value = sign(null, Buffer.from(toSignedText({ id, hash })), privateKey).toString('base64')
    return { bundle, signature: { key, value } }
  }
  return { key, signed }
}

function open() {
  const store = createMemoryTrust()
  const trust = createTrustAdministration({ ...systemSources, store })
  const read = createUploadReader({
    ...uploadDeps(),
    trust,
  })
  return { trust, store, read: (json: unknown) => read({ json }) }
}

describe('P20: the tier of an upload', () => {
  it('is trusted if a key that the operator accepted signed it', async () => {
    const { trust, read } = open()
    const { key, signed } = createSigner()
    await trust.add({ name: 'acme', publicKey: key }, by)
    expect(await read(signed('greeter', bundleOf('greeter')))).toMatchObject({
      tier: 'trusted',
      signer: 'acme',
      notes: [],
    })
  })

  it('is community without a signature', async () => {
    const read = await open().read({ bundle: bundleOf('greeter') })
    expect(read).toMatchObject({ tier: 'community', notes: [] })
    expect(read).not.toHaveProperty('signer')
  })

  it('is community with a note for a key that is not accepted, or not any more', async () => {
    const { trust, read } = open()
    const { key, signed } = createSigner()
    const sent = signed('greeter', bundleOf('greeter'))
    const unknown = {
      tier: 'community',
      notes: [expect.stringContaining(`isola trust add <name> ${key}`)],
    }
    expect(await read(sent)).toMatchObject(unknown)
    await trust.add({ name: 'acme', publicKey: key }, by)
    expect(await read(sent)).toMatchObject({ tier: 'trusted' })
    await trust.remove('acme', by)
    expect(await read(sent)).toMatchObject(unknown)
  })
})

describe('T24: a signature that does not fit is refused, not taken for none', () => {
  const { key, signed } = createSigner()
  const other = createSigner()
  const sent = signed('greeter', bundleOf('greeter'))
  it.each([
    ['after a change of the bundle', { ...sent, bundle: bundleOf('greeter', { name: 'Other' }) }],
    ['of another version', { ...sent, bundle: bundleOf('greeter', { version: '0.9.0' }) }],
    ['of another plugin', signed('another', bundleOf('greeter'))],
    ['under another key', { ...sent, signature: { ...sent.signature, key: other.key } }],
    [
      'of another key',
      { ...sent, signature: { key, value: other.signed('greeter', sent.bundle).signature.value } },
    ],
    ['of zeros', { ...sent, signature: { key, value: Buffer.alloc(64).toString('base64') } }],
    [
      'under a key that is none',
      { ...sent, signature: { ...sent.signature, key: Buffer.alloc(32, 255).toString('base64') } },
    ],
  ])('%s', async (_name, json) => {
    const { trust, read } = open()
    await trust.add({ name: 'acme', publicKey: key }, by)
    await expect(read(json)).rejects.toMatchObject({ code: 'plugin_signature_invalid' })
  })
})

describe('accepted keys', () => {
  it('are on the record when they come and go', async () => {
    const { trust, store } = open()
    const { key } = createSigner()
    const { id } = await trust.add({ name: 'acme', publicKey: key }, by)
    await trust.remove(id, by)
    expect(
      store.events.map((event) => {
        const { name, key } = dataOf(event)
        return [event.type, event.principal, name, key]
      }),
    ).toEqual([
      ['trust_added', 'operator', 'acme', id],
      ['trust_removed', 'operator', 'acme', id],
    ])
    await expect(trust.remove('acme', by)).rejects.toMatchObject({ code: 'request_not_found' })
  })

  it.each([
    ['zeros', Buffer.alloc(32)],
    ['the one', Buffer.from([1, ...Buffer.alloc(31)])],
    [
      'a point of order eight',
      Buffer.from('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', 'hex'),
    ],
  ])('are none under which one signature fits many texts: %s', async (_name, bytes) => {
    const { trust } = open()
    const adding = trust.add({ name: 'weak', publicKey: bytes.toString('base64') }, by)
    await expect(adding).rejects.toMatchObject({ code: 'request_invalid', param: 'publicKey' })
  })
})
