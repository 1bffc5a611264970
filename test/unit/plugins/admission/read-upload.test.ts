import { describe, expect, it } from 'vitest'
import { toBundleText } from '#runtime/catalog/types/plugin-upload.ts'
import { readUpload } from '../../../../src/features/plugins/admission/read-upload.ts'
import { systemSources } from '../../../../src/compose/sources.ts'
import { code, folder, manifestText, uploadDeps } from '../../../fakes/uploads.ts'
import { zip, zipOf } from '../../../fakes/zip.ts'

const bundle = {
  manifest: {
    id: 'greeter',
    name: 'Greeter',
    version: '1.0.0',
    entrypoint: 'main.ts',
    description: 'Greets.',
  },
  code: 'export default () => ({})',
  files: { 'README.md': '# Greeter' },
}

describe('an upload, as a zip', () => {
  it('becomes a bundle: plugin.yaml, one module, the files that are named, and README.md', async () => {
    const archive = zipOf({ ...folder, 'notes.txt': 'not kept' })
    const read = await readUpload({ zip: archive }, uploadDeps())
    expect(read.manifest.id).toBe('github-tools')
    expect(read.bundle.code).toBe(code)
    expect(read.bundle.files).toEqual({ 'README.md': '# GitHub' })
    expect(read.hash).toBe(systemSources.sha256(toBundleText(read.bundle)))
    expect(read).toMatchObject({ notes: [], source: 'zip' })
  })

  it('may have one folder around everything, entries of folders, a comment and what macOS adds', async () => {
    const files = Object.entries(folder).map(([name, text]) => ({
      name: `repo-1a2b/${name}`,
      text,
    }))
    const archive = zip(
      [
        { name: 'repo-1a2b/', mode: 0o40755 },
        ...files.map((file) => ({ ...file, hasDescriptor: true })),
        { name: '__MACOSX/repo-1a2b/._main.js', text: 'x' },
        { name: 'repo-1a2b/.DS_Store', text: 'x' },
      ],
      { comment: new TextEncoder().encode('1a2b'.repeat(10)) },
    )
    const { bundle: read } = await readUpload({ zip: archive }, uploadDeps())
    expect(read.code).toBe(code)
  })

  it('keeps the prompt that an agent names', async () => {
    const yaml = `id: reviewer\nname: R\nversion: 1.0.0\ndescription: Reviews.\nagent:\n  { integration_mode: tool, model: m, instructions: prompts/a.md }\n`
    const archive = zipOf({ 'plugin.yaml': yaml, 'prompts/a.md': 'Review.' })
    const { bundle: read } = await readUpload({ zip: archive }, uploadDeps())
    expect(read).toMatchObject({ files: { 'prompts/a.md': 'Review.' } })
    expect(read).not.toHaveProperty('code')
  })

  it('T26: has at most 16 secrets, each in as many places as it needs', async () => {
    const read = (...names: string[]) => {
      const secrets = names.map((name) => ({ name, in: 'hmac' }))
      const manifest = { ...bundle.manifest, grants: { secrets } }
      return readUpload({ json: { bundle: { ...bundle, manifest } } }, uploadDeps())
    }
    const names = Array.from({ length: 16 }, (_, at) => `KEY_${at}`)
    await expect(read(...names, 'KEY_0', 'KEY_1')).resolves.toBeDefined()
    await expect(read(...names, 'KEY_16')).rejects.toMatchObject({
      code: 'plugin_manifest_invalid',
      message: expect.stringContaining('grants.secrets') as string,
    })
  })

  it.each(['main.ts', 'src/main.mts', 'main.tsx', 'main.cts'])(
    'is refused with the command to run if its entry is TypeScript: %s',
    async (entry) => {
      const yaml = manifestText.replace('main.js', entry)
      const archive = zipOf({ 'plugin.yaml': yaml, [entry]: 'export default () => ({})' })
      await expect(readUpload({ zip: archive }, uploadDeps())).rejects.toMatchObject({
        code: 'plugin_upload_invalid',
        message: expect.stringMatching(`"${entry}" is TypeScript.*isola plugin build`) as unknown,
      })
    },
  )

  it('T26: keeps a module unparsed, however it is nested', async () => {
    const nested = `export default ${'(a = '.repeat(50_000)}1${') => 1'.repeat(50_000)}`
    const archive = zipOf({ ...folder, 'main.js': nested })
    expect((await readUpload({ zip: archive }, uploadDeps())).bundle.code).toBe(nested)
  })
})

describe('an upload, as JSON', () => {
  it('is the bundle that the command line made, with signature and source', async () => {
    const signature = { key: `${'A'.repeat(43)}=`, value: `${'A'.repeat(86)}==` }
    const read = await readUpload({ json: { bundle, signature, source: 'mine' } }, uploadDeps())
    expect(read).toMatchObject({ bundle, signature, source: 'mine' })
  })

  it('has the same hash whatever the order of its keys', async () => {
    const { manifest, ...rest } = bundle
    const turned = { ...rest, manifest: Object.fromEntries(Object.entries(manifest).toReversed()) }
    const [one, other] = await Promise.all(
      [bundle, turned].map((given) => readUpload({ json: { bundle: given } }, uploadDeps())),
    )
    expect(one?.hash).toBe(other?.hash)
  })

  it('has a note where its API will end, and is refused where it is another', async () => {
    const withApi = (api: string) => ({
      json: { bundle: { ...bundle, manifest: { ...bundle.manifest, api } } },
    })
    const { notes } = await readUpload(withApi('~1.0'), uploadDeps())
    expect(notes).toEqual([expect.stringContaining('will not for long')])
    await expect(readUpload(withApi('>=2.0'), uploadDeps())).rejects.toMatchObject({
      code: 'plugin_contract_mismatch',
    })
  })
})

describe('an upload, by URL', () => {
  const at = (
    url: string,
    answers: Readonly<Record<string, () => Response>>,
    isDevelopment = false,
  ) => {
    const asked: string[] = []
    const deps = uploadDeps({
      isDevelopment,
      fetch: async (target, { redirect }) => {
        expect(redirect).toBe('manual')
        asked.push(target)
        return answers[target]?.() ?? new Response('no', { status: 404 })
      },
    })
    return { asked, reading: readUpload({ json: { url } }, deps) }
  }
  const archive = () => new Response(zipOf(folder))
  const to = (location: string) => () => new Response(null, { status: 302, headers: { location } })

  it('is fetched from a public host over https, redirects followed', async () => {
    const { reading, asked } = at('https://github.com/a.zip', {
      'https://github.com/a.zip': to('https://codeload.github.com/b'),
      'https://codeload.github.com/b': archive,
    })
    expect((await reading).source).toBe('https://github.com/a.zip')
    expect(asked).toHaveLength(2)
  })

  it('may be the file that the command line wrote, with its signature', async () => {
    const { reading } = at('https://example.com/greeter.isola.json', {
      'https://example.com/greeter.isola.json': () => Response.json({ bundle }),
    })
    expect(await reading).toMatchObject({
      bundle,
      source: 'https://example.com/greeter.isola.json',
    })
  })

  it('may be on this machine in development only', async () => {
    const url = 'http://localhost:9000/a.zip'
    await expect(at(url, { [url]: archive }, true).reading).resolves.toMatchObject({ source: url })
    const { reading, asked } = at(url, { [url]: archive })
    await expect(reading).rejects.toMatchObject({ code: 'request_invalid', param: 'url' })
    expect(asked).toEqual([])
  })

  it.each([
    'http://example.com/a.zip',
    'https://10.0.0.1/a.zip',
    'https://169.254.169.254/latest',
    'https://[::1]/a.zip',
    'https://example.com:8443/a.zip',
    'https://me:secret@example.com/a.zip',
    'https://service.internal/a.zip',
    'file:///etc/passwd',
    'data:application/zip;base64,UEs=',
    'nonsense',
  ])('T3: is refused before anything is asked: %s', async (url) => {
    const { reading, asked } = at(url, {})
    await expect(reading).rejects.toMatchObject({ code: 'request_invalid', param: 'url' })
    expect(asked).toEqual([])
  })

  it.each(['https://127.0.0.1/', 'http://example.com/', 'https://192.168.1.1/a.zip'])(
    'T3: is refused where a redirect leads to %s',
    async (location) => {
      const { reading, asked } = at('https://example.com/', {
        'https://example.com/': to(location),
      })
      await expect(reading).rejects.toMatchObject({ code: 'request_invalid' })
      expect(asked).toEqual(['https://example.com/'])
    },
  )

  it('gives up a chain of redirects that does not end', async () => {
    const url = 'https://example.com/'
    const { reading, asked } = at(url, { [url]: to(url) })
    await expect(reading).rejects.toMatchObject({ code: 'plugin_source_unavailable' })
    expect(asked).toHaveLength(6)
  })

  it('stops reading what is too large, whatever its length is said to be', async () => {
    let sent = 0
    const endless = () =>
      new Response(
        new ReadableStream<Uint8Array>({
          pull(controller) {
            sent += 1
            controller.enqueue(new Uint8Array(1024 * 1024))
          },
        }),
        { headers: { 'content-length': '10' } },
      )
    const { reading } = at('https://example.com/', { 'https://example.com/': endless })
    await expect(reading).rejects.toThrow(/larger than/)
    expect(sent).toBeLessThan(10)
  })

  it('ends after its time', async () => {
    const clock = { ...systemSources.clock, sleep: async () => {} }
    const deps = uploadDeps({ clock, fetch: () => new Promise(() => {}) })
    const reading = readUpload({ json: { url: 'https://example.com/' } }, deps)
    await expect(reading).rejects.toThrow(/did not come within 30 seconds/)
  })

  it('names the host that failed, not what it said', async () => {
    const { reading } = at('https://example.com/gone', {})
    await expect(reading).rejects.toMatchObject({
      code: 'plugin_source_unavailable',
      message: 'The archive: example.com answered 404.',
    })
  })
})

it('keeps what plugin.yaml says as it says it', async () => {
  const yaml = `${manifestText}enabled: false\n`
  const { bundle: read } = await readUpload(
    { zip: zipOf({ ...folder, 'plugin.yaml': yaml }) },
    uploadDeps(),
  )
  expect(read.manifest).toMatchObject({ enabled: false, entrypoint: 'main.js' })
})
