import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  createArchiveReader,
  type ArchiveReaderDeps,
} from '../../../../src/features/plugins/admission/archive-reader.ts'
import { readArchive } from '../../../../src/features/plugins/admission/read-archive.ts'
import { systemSources } from '../../../../src/compose/sources.ts'
import { folder } from '../../../fakes/uploads.ts'
import { zipOf } from '../../../fakes/zip.ts'

const { sha256 } = systemSources
const code = 'the code that reads'
const archive = zipOf(folder)
const never = () => new Promise<never>(() => {})

/** A reader whose isolates answer this, and what was asked for. */
function open(
  answer: (archive: Uint8Array) => unknown = (bytes) =>
    JSON.stringify({ bundle: readArchive(bytes) }),
  overrides: Partial<ArchiveReaderDeps> = {},
) {
  const opened: string[] = []
  const asked: string[] = []
  const read = createArchiveReader({
    isolates: {
      openReader: (text) => {
        opened.push(text)
        expect(text).toBe(code)
        const reads = async (bytes: Uint8Array) => answer(bytes)
        return { read: reads, readSkills: reads }
      },
    },
    readAsset: async (path) => {
      asked.push(path)
      return new Response(code)
    },
    reader: { path: '/reader.js', sha256: sha256(code) },
    sha256,
    sleep: never,
    ...overrides,
  })
  return { read, opened, asked }
}

const refusalOf = (reading: Promise<unknown>) => reading.catch((error: unknown) => error)

describe('T26: an archive', () => {
  it('is read in an isolate of its own, also the same one again', async () => {
    const { read, opened, asked } = open()
    const other = zipOf({ ...folder, 'README.md': 'other' })
    const [first, , again] = [await read(archive), await read(other), await read(archive)]
    expect(first.manifest.id).toBe('github-tools')
    expect(again).toEqual(first)
    expect(opened).toHaveLength(3)
    expect(asked).toHaveLength(1)
  })

  it.each([
    ['no isolates', { isolates: undefined }],
    ['no assets', { readAsset: undefined }],
  ])('is refused where there are %s, with what to do', async (_, without) => {
    expect(await refusalOf(open(undefined, without).read(archive))).toMatchObject({
      code: 'plugin_isolate_unavailable',
      message: expect.stringContaining('isola plugin add') as unknown,
    })
  })

  it('is read by no other code than was built with the deployment, and by that as soon as it is there', async () => {
    const answers = [
      new Response('other code'),
      new Response('', { status: 404 }),
      new Response(code),
    ]
    const { read, opened } = open(undefined, { readAsset: async () => answers.shift()! })
    for (let tries = 0; tries < 2; tries += 1)
      expect(await refusalOf(read(archive))).toMatchObject({ code: 'plugin_isolate_unavailable' })
    expect(opened).toEqual([])
    expect((await read(archive)).manifest.id).toBe('github-tools')
  })

  it('is refused for the reason that the isolate gives', async () => {
    const error = { code: 'plugin_manifest_invalid', message: 'id: is missing', param: 'id' }
    const { read } = open(() => JSON.stringify({ error }))
    expect(await refusalOf(read(archive))).toMatchObject(error)
  })

  it.each([
    ['no text', () => 7],
    ['no JSON', () => '{'],
    ['another shape', () => '{"bundle":{},"more":1}'],
    ['a code that is not its own', () => '{"error":{"code":"request_forbidden","message":"x"}}'],
    ['a text without an end', () => 'x'.repeat(30_000_000)],
    ['nothing, and breaks', () => Promise.reject(new Error('exceeded its memory'))],
  ])('is refused in our own words if the isolate answers %s', async (_, answer) => {
    expect(await refusalOf(open(answer).read(archive))).toMatchObject({
      code: 'plugin_upload_invalid',
      message: 'The archive could not be read.',
    })
  })

  it('is refused if the isolate answers a bundle that does not hold together', async () => {
    const bundle = { manifest: { id: 'x' }, files: { '../etc': 'x' } }
    const { read } = open(() => JSON.stringify({ bundle }))
    expect(await refusalOf(read(archive))).toMatchObject({
      code: expect.stringMatching(/^plugin_(upload|manifest)_invalid$/) as unknown,
    })
  })

  it('is refused if the isolate does not answer in time', async () => {
    const { read } = open(never, { sleep: async () => {} })
    expect(await refusalOf(read(archive))).toMatchObject({
      code: 'plugin_upload_invalid',
      message: expect.stringContaining('took longer than') as unknown,
    })
  })
})

it('T26: nothing of the Worker itself parses a zip or YAML', () => {
  const src = join(import.meta.dirname, '../../../../src')
  const importers = (name: string) =>
    readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path))
      .filter((path) => readFileSync(join(src, path), 'utf8').includes(`/${name}'`))
      .map((path) => path.replaceAll('\\', '/'))
  const install = 'features/plugins/admission'
  expect(importers('read-archive.ts')).toEqual([`${install}/inside/archive-entry.ts`])
  expect(importers('unzip.ts').toSorted()).toEqual([
    `${install}/read-archive.ts`,
    `${install}/read-skills.ts`,
  ])
  expect(importers('untar.ts')).toEqual([`${install}/read-skills.ts`])
  expect(importers('folder-to-bundle.ts')).toEqual([`${install}/read-archive.ts`])
  expect(importers('read-yaml.ts').toSorted()).toEqual([
    `${install}/collect-skills.ts`,
    `${install}/folder-to-bundle.ts`,
  ])
  expect(importers('collect-skills.ts')).toEqual([`${install}/read-skills.ts`])
  expect(importers('read-skills.ts')).toEqual([`${install}/inside/archive-entry.ts`])
})
