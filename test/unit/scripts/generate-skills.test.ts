import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bundleSkills, SkillError } from '../../../scripts/generate-skills.mjs'

let base = ''
beforeEach(() => (base = mkdtempSync(join(tmpdir(), 'isola-skills-'))))
afterEach(() => rmSync(base, { recursive: true, force: true }))

const valid = (name: string) => `---\nname: ${name}\ndescription: Tidies.\n---\n\n# Tidy\n`
function write(path: string, text: string | Uint8Array): void {
  mkdirSync(dirname(join(base, 'skills', path)), { recursive: true })
  writeFileSync(join(base, 'skills', path), text)
}
const bundled = () => JSON.parse(bundleSkills(base)) as { readonly skills: readonly object[] }

describe('P7: the skills that ship', () => {
  it('are all folders of skills/ with all of their files, but not what tests them', () => {
    write('tidy/SKILL.md', valid('tidy'))
    write('tidy/references/more.md', 'More.')
    write('tidy/triggers.yaml', 'finds: []')
    expect(bundled().skills).toEqual([
      {
        name: 'tidy',
        description: 'Tidies.',
        kind: 'skill',
        requires: [],
        frontMatter: { name: 'tidy', description: 'Tidies.' },
        hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        files: { 'SKILL.md': valid('tidy'), 'references/more.md': 'More.' },
      },
    ])
  })

  it('are the same bytes each time, and another hash with another file', () => {
    write('tidy/SKILL.md', valid('tidy'))
    const before = bundleSkills(base)
    expect(bundleSkills(base)).toBe(before)
    write('tidy/a.md', '')
    const hashes = [before, bundleSkills(base)].map((text) => /"hash":"(\w+)"/.exec(text)?.[1])
    expect(new Set(hashes).size).toBe(2)
  })

  it('may be none', () => expect(bundled().skills).toEqual([]))

  it.each([
    ['no SKILL.md', 'readme.md', 'x', 'skills/tidy: there is no SKILL.md'],
    [
      'another name than its folder',
      'SKILL.md',
      valid('tidier'),
      'skills/tidy/SKILL.md: name must be',
    ],
    [
      'no description',
      'SKILL.md',
      '---\nname: tidy\n---\n',
      'skills/tidy/SKILL.md: description is',
    ],
    [
      'a requirement without a meaning',
      'SKILL.md',
      valid('tidy').replace('---\n\n', 'metadata:\n  isola-requires: git\n---\n\n'),
      'skills/tidy/SKILL.md: metadata isola-requires has git',
    ],
    [
      'no text in UTF-8',
      'SKILL.md',
      new Uint8Array([0xff, 0xfe]),
      'skills/tidy/SKILL.md: must be text',
    ],
  ])('stop the build where one has %s, with file and field', (_what, path, text, message) => {
    write(`tidy/${path}`, text)
    expect(bundled).toThrow(SkillError)
    expect(bundled).toThrow(message)
  })

  it('follow no link', () => {
    write('tidy/SKILL.md', valid('tidy'))
    symlinkSync('/etc/hostname', join(base, 'skills/tidy/host.md'))
    expect(bundled).toThrow('skills/tidy/host.md: must be a file, not a link')
  })
})
