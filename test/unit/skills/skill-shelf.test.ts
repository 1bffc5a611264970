import { createHash } from 'node:crypto'
import { unzipSync, strFromU8 } from 'fflate'
import { describe, expect, it } from 'vitest'
import type { SkillSource } from '../../../src/runtime/catalog/types/skill.ts'
import { createSkillShelf, storedZip } from '../../../src/features/skills/skill-shelf.ts'
import { libraryOf, shelfOf, skillSource } from '../../fakes/skills.ts'

const digestOf = (bytes: Uint8Array | string) =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const odd = '\ufeffGrüße, 世界\r\n'
const files = { 'references/größe.md': odd, 'b.json': '{}', 'scripts/a.sh': 'exit 0' }
const whole = skillSource('whole', 'Has files.', { files, requires: ['tool:none__here'] })
const plain = skillSource('plain', 'Is one file.')
const outgoing = async (skills: readonly SkillSource[], ...names: readonly string[]) =>
  shelfOf(skills).outgoing(names)

describe('P19: a skill for others', () => {
  it('is all of its files with size and digest of their very bytes, SKILL.md first', async () => {
    const { skills, problems } = await outgoing([whole, plain], 'whole', 'plain', 'whole')
    expect(problems).toEqual([])
    expect(skills.map(({ name }) => name)).toEqual(['plain', 'whole'])
    const { name, description, frontMatter, files: found } = skills[1]!
    expect([name, description, frontMatter]).toEqual(['whole', 'Has files.', whole.frontMatter])
    expect(found.map(({ path, mimeType }) => [path, mimeType])).toEqual([
      ['SKILL.md', 'text/markdown'],
      ['b.json', 'application/json'],
      ['references/größe.md', 'text/markdown'],
      ['scripts/a.sh', 'text/plain'],
    ])
    for (const { path, text, sizeBytes, digest } of found) {
      expect(text).toBe(whole.files[path])
      expect([sizeBytes, digest]).toEqual([Buffer.byteLength(text), digestOf(text)])
    }
  })

  it.each<[string, Partial<SkillSource>, string]>([
    ['a persona', { kind: 'persona' }, 'it is a persona, which is not offered to others.'],
    [
      'whose front matter nobody else can read',
      { frontMatter: undefined as never },
      'it is not offered: others could not read the top of its SKILL.md.',
    ],
    [
      'that goes by another name in its file',
      { frontMatter: { name: 'other', description: 'x' } },
      'it is not offered: others could not read the top of its SKILL.md.',
    ],
    [
      'with a longer description than clients take',
      { frontMatter: { name: 'it', description: 'x'.repeat(1_025) } },
      'it is not offered: its description is longer than 1024 characters.',
    ],
    [
      'with more files than clients take',
      { files: Object.fromEntries(Array.from({ length: 512 }, (_, n) => [`${n}.md`, ''])) },
      'it is not offered: it has more than 512 files, or more than 16 MiB.',
    ],
    [
      'that is larger than clients take',
      { files: { 'a.md': 'ü'.repeat(8_388_608) } },
      'it is not offered: it has more than 512 files, or more than 16 MiB.',
    ],
  ])('is none %s, which is said', async (_what, more, problem) => {
    const found = await outgoing([skillSource('it', 'Is.', more), plain], 'it', 'plain')
    expect(found.problems).toEqual([problem])
    expect(found.skills.map(({ name }) => name)).toEqual(['plain'])
  })

  it('is none that is not in force', async () => {
    const library = libraryOf([plain])
    const isOff = async (...given: Parameters<typeof library.show>) => ({
      ...(await library.show(...given))!,
      state: 'disabled' as never,
    })
    expect(await createSkillShelf({ show: isOff }).outgoing(['plain'])).toEqual({
      skills: [],
      problems: ['plain is not enabled.'],
    })
  })

  it('is none that is not there', async () => {
    expect(await outgoing([plain], 'gone')).toEqual({
      skills: [],
      problems: ['There is no skill gone now.'],
    })
  })
})

describe('P19: a skill as one file', () => {
  it('is its SKILL.md where that is all', async () => {
    const shelf = shelfOf([plain])
    const { skills } = await shelf.outgoing(['plain'])
    const text = plain.files['SKILL.md']!
    expect(await shelf.artifact(skills[0]!)).toEqual({
      type: 'skill-md',
      path: 'plain/SKILL.md',
      mimeType: 'text/markdown',
      bytes: new TextEncoder().encode(text),
      digest: digestOf(text),
    })
  })

  it('is a zip of all that others read, and the same bytes each time', async () => {
    const shelf = shelfOf([whole])
    const { skills } = await shelf.outgoing(['whole'])
    const { bytes, ...about } = await shelf.artifact(skills[0]!)
    expect(about).toEqual({
      type: 'archive',
      path: 'whole.zip',
      mimeType: 'application/zip',
      digest: digestOf(bytes),
    })
    const read = Object.entries(unzipSync(bytes)).map(([path, one]) => [path, Buffer.from(one)])
    const put = Object.entries(whole.files).map(([path, text]) => [path, Buffer.from(text)])
    expect(Object.fromEntries(read)).toEqual(Object.fromEntries(put))
    expect((await shelf.artifact(skills[0]!)).digest).toBe(about.digest)
  })

  it('may be a zip of nothing, or of an empty file', () => {
    expect(unzipSync(storedZip([]))).toEqual({})
    const one = unzipSync(storedZip([{ path: 'a', bytes: new Uint8Array() }]))
    expect(strFromU8(one['a']!)).toBe('')
  })
})
