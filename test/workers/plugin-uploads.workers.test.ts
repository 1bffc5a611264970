import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import worker from '../../src/index.ts'
import { call, callJson } from '../fakes/client.ts'
import { addPlugin, enablePlugin, pluginBundle, showPlugin } from '../fakes/plugin-admin.ts'
import { zipOf } from '../fakes/zip.ts'
import { tricks } from '../hostile/archive-tricks.ts'

const path = '/api/operator/plugins'
const yaml = (id: string) => `id: ${id}
name: Zipped
version: 1.0.0
entrypoint: main.js
description: Came as a zip.
contributes: { tools: [{ name: say, description: Says. }] }
`
const main = `import { ToolError } from 'isola/plugin'
export default () => ({ tools: { say: async () => \`zipped \${ToolError.name}\` } })
`
const sendZip = (id: string, files: Readonly<Record<string, string>> = {}, query = '') =>
  call(`${path}${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/zip' },
    body: zipOf({ [`${id}-main/plugin.yaml`]: yaml(id), [`${id}-main/main.js`]: main, ...files }),
  })

it('P1, P19: a zip with one module of JavaScript is installed, and enabled like any other', async () => {
  const added = await sendZip('zipped')
  expect([added.status, await added.json()]).toEqual([
    201,
    expect.objectContaining({
      plugin: expect.objectContaining({
        id: 'zipped',
        state: 'installed',
        tier: 'community',
      }) as unknown,
    }),
  ])
  expect((await callJson(`${path}/zipped/enable`, { json: {} })).plugin.state).toBe('enabled')
})

it('T26: a zip that is none is refused with 422, and nothing is there', async () => {
  const response = await sendZip('broken', { 'broken-main/../../etc': 'x' })
  expect([response.status, await response.text()]).toEqual([
    422,
    expect.stringContaining('leaves the folder'),
  ])
  expect((await call(`${path}/broken`)).status).toBe(404)
})

it.each(tricks)(
  'T26: hostile archives are refused by the isolate that reads them, of each kind some: %s',
  async (_group, those) => {
    for (const [name, archive, message] of those.slice(0, 4)) {
      const headers = { 'content-type': 'application/zip' }
      const refused = await call(path, { method: 'POST', headers, body: archive() })
      const { error } = (await refused.json()) as { readonly error: { readonly message: string } }
      // A request that is too large is refused before the archive is read.
      expect([422, 413], `${name}: ${error.message}`).toContain(refused.status)
      if (refused.status === 422) expect(error.message, name).toMatch(message)
    }
  },
)

it('no request from outside can fetch the code that reads archives', async () => {
  const headers = { authorization: '' }
  expect((await call('/archive-reader.js', { headers })).status).toBe(401)
  expect((await call('/archive-reader.js')).status).toBe(404)
})

it('P27: an id that looks like another is pointed out, one of ours is refused', async () => {
  await addPlugin(pluginBundle('github-tools', 'one'))
  const { notes } = await addPlugin(pluginBundle('git-hub-tools', 'two'))
  expect(notes.join()).toContain('looks like "github-tools"')
  const refused = await call(path, { json: { bundle: pluginBundle('isola', 'three') } })
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('reserved')])
})

it('P20: a signed plugin is trusted once the operator accepts the key, and a bad signature is refused', async () => {
  const pair = (await crypto.subtle.generateKey('Ed25519', true, [
    'sign',
    'verify',
  ])) as CryptoKeyPair
  const base64 = (bytes: ArrayBuffer) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  const key = base64((await crypto.subtle.exportKey('raw', pair.publicKey)) as ArrayBuffer)
  const bundle = pluginBundle('signed', 'one')
  const { plugin } = await addPlugin(bundle)
  const text = new TextEncoder().encode(`isola plugin 1\nsigned\n${plugin.hash}\n`)
  const value = base64(await crypto.subtle.sign('Ed25519', pair.privateKey, text))
  const signature = { key, value }
  const next = { ...bundle, manifest: { ...bundle.manifest, version: '2.0.0' } }
  const refused = await call(path, { json: { bundle: next, signature } })
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringContaining('plugin_signature_invalid'),
  ])
  expect((await showPlugin('signed')).version).toBe('1.0.0')
  expect((await addPlugin(bundle, { signature })).notes.join()).toContain('not accepted here')
  await callJson('/api/operator/trust', { json: { name: 'acme', publicKey: key } })
  const other = pluginBundle('signed-too', 'one')
  const first = await addPlugin(other)
  const signed = new TextEncoder().encode(`isola plugin 1\nsigned-too\n${first.plugin.hash}\n`)
  await callJson(`${path}/signed-too`, { method: 'DELETE' })
  const good = { key, value: base64(await crypto.subtle.sign('Ed25519', pair.privateKey, signed)) }
  expect((await addPlugin(other, { signature: good })).plugin).toMatchObject({ tier: 'trusted' })
  await enablePlugin('signed-too')
  await callJson('/api/operator/trust/acme', { method: 'DELETE' })
  expect(await showPlugin('signed-too')).toMatchObject({ tier: 'community', state: 'enabled' })
  // A key was removed without word to the plugins that it had signed: the daily job finds them.
  await callJson('/api/operator/trust', { json: { name: 'acme', publicKey: key } })
  await callJson(`${path}/signed-too`, { method: 'DELETE' })
  await addPlugin(other, { signature: good })
  await enablePlugin('signed-too')
  await env.DB.prepare('DELETE FROM trusted_keys').run()
  expect(await showPlugin('signed-too')).toMatchObject({ tier: 'trusted' })
  await worker.scheduled()
  expect(await showPlugin('signed-too')).toMatchObject({ tier: 'community', state: 'enabled' })
})

it.each([
  [
    'imports',
    "import { a } from './other.js'\nexport default () => ({ tools: { say: async () => a } })",
  ],
  ['typescript', 'const register: Plugin = () => ({ tools: {} })\nexport default register'],
])(
  'P25: code that is more than one module of JavaScript does not start, and says what makes one of it: %s',
  async (id, text) => {
    await sendZip(id, { [`${id}-main/main.js`]: text })
    const refused = await call(`${path}/${id}/enable`, { json: {} })
    expect([refused.status, await refused.text()]).toEqual([
      422,
      expect.stringMatching(
        /main\.js.* has to be one module of JavaScript, as `isola plugin build`/,
      ),
    ])
  },
)
