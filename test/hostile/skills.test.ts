import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { skillCaps, type SentSkill } from '#runtime/catalog/types/skill-catalog.ts'
import { checkSkillName } from '../../src/runtime/catalog/lifecycle/names.ts'
import { checkDistinct, checkPath } from '../../src/features/plugins/admission/archive-paths.ts'
import { readSkills } from '../../src/features/plugins/admission/read-skills.ts'
import { readBundle } from '../../src/features/skills/admission/read-bundle.ts'
import { sha256 } from '../fakes/kernel.ts'
import { skillBundle } from '../fakes/skills.ts'
import { bytesOf, zipOf } from '../fakes/zip.ts'
import { tricks } from './archive-tricks.ts'

const deps = {
  sha256,
  count: { ofText: (text: string) => text.length },
  checkPaths(paths: readonly string[]) {
    for (const path of paths) checkPath(path)
    checkDistinct(paths)
  },
}
const read = (bundle: SentSkill['bundle']) => () => readBundle({ bundle }, deps)
const kites = (more: Parameters<typeof skillBundle>[3] = {}, body = 'Cut the spars.') =>
  skillBundle('kites', 'Builds kites.', body, more)

describe('T26: a skill that was sent', () => {
  it.each([
    ['leaves its folder', '../../.bashrc', 'leaves the folder'],
    ['is absolute', '/etc/cron.d/x', 'is absolute'],
    ['has a backslash', 'a\\..\\b', 'backslash'],
    ['has a drive', 'C:x', 'colon'],
    ['has a name that nobody sees', 'a\u200b.md', 'invisible'],
    ['differs from another in case only', 'skill.MD', 'differ only in case'],
    ['is a file and a folder at once', 'SKILL.md/x', 'file and a folder'],
  ])('is refused if one of its paths %s', (_what, path, why) => {
    expect(read(kites({ files: { [path]: 'x' } }))).toThrow(why)
  })

  it('is refused with more files, or more text, than a skill may have', () => {
    const many = Object.fromEntries(
      Array.from({ length: skillCaps.maxFiles }, (_unused, at) => [`f${at}`, '']),
    )
    expect(read(kites({ files: many }))).toThrow('200 at most')
    expect(read(kites({ files: { a: 'x'.repeat(skillCaps.maxChars) } }))).toThrow('1048576 at most')
    const fields = { ...kites().fields, metadata: { a: 'x'.repeat(skillCaps.maxFieldsChars) } }
    expect(read({ ...kites(), fields })).toThrow('front matter has more')
  })

  it.each([
    ['tags that spell an order', '\u{e0069}\u{e0067}\u{e006e}'],
    ['a direction override', '\u202e'],
    ['a space of no width', '\u200b'],
    ['an escape sequence', '\u001b[2J'],
    ['half a character', '\ud800'],
  ])('T23: is refused with %s in any of its texts, and the place is named', (_what, hidden) => {
    const body = `One.\nTwo${hidden}.`
    expect(read(kites({}, body))).toThrow(/SKILL\.md(:\d+)?: (has a character|is not valid)/)
    expect(read(kites({ files: { 'refs/a.md': body } }))).toThrow(/refs\/a\.md/)
    const fields = { ...kites().fields, description: `Builds${hidden} kites.` }
    expect(read({ ...kites(), fields })).toThrow(/nobody can see|valid Unicode/)
  })

  it('is not refused for emoji, umlauts, or a mark at the beginning', () => {
    const files = { 'a.md': '\ufeffGrüße 👩‍👧 ✔️ naïve' }
    expect(read(kites({ files }))().version.paths).toEqual(['a.md'])
  })

  it('Y18: says which of its requirements mean nothing, since nothing is held back by them', () => {
    const metadata = { 'isola-requires': 'everything tool:a__b', 'isola-kind': 'voice' }
    const { notes } = read(kites({ metadata }))()
    expect(notes).toEqual([
      expect.stringContaining('isola-kind is voice'),
      expect.stringContaining('isola-requires has everything'),
    ])
  })

  it('P11: is refused as a persona that is longer than one may be', () => {
    const persona = (chars: number) =>
      read(kites({ metadata: { 'isola-kind': 'persona' } }, 'x'.repeat(chars)))
    expect(persona(511)).toThrow('a persona has 510 at most')
    expect(persona(510)().version.kind).toBe('persona')
  })

  it.each([
    ['no SKILL.md', { fields: kites().fields, files: { 'a.md': 'x' } }, 'no SKILL.md'],
    ['no description', skillBundle('kites', '', 'x'), 'description'],
    ['nothing in it', undefined, 'no bundle'],
  ])('is refused with %s', (_what, bundle, why) => {
    expect(read(bundle)).toThrow(why)
  })

  it('gets nothing by what it says that it may use', () => {
    const fields = { ...kites().fields, 'allowed-tools': 'Bash(*) files__write' }
    expect(JSON.stringify(read({ ...kites(), fields })().version)).not.toContain('Bash')
  })

  it('is another version if one letter of what it says, or of its files, is another', () => {
    const hashOf = (bundle: SentSkill['bundle']) => read(bundle)().version.hash
    const fields = { ...kites().fields, description: 'Builds kits.' }
    const hashes = [kites(), kites({}, 'x'), kites({ files: { a: '' } }), { ...kites(), fields }]
    expect(new Set(hashes.map(hashOf)).size).toBe(4)
  })
})

describe('T24: the name of a skill', () => {
  const there = {
    bundled: ['code-review', 'incident-report'],
    installed: ['kites'],
    isMeant: false,
  }
  const named = (name: string, more: object = {}) =>
    checkSkillName.bind(undefined, name, { ...there, ...more })

  it.each([
    ['code-review', 'ships with this deployment'],
    ['isola-admin', 'reserved for Isola itself'],
    ['orchestrator', 'reserved for Isola itself'],
    ['c0de-review', 'looks like "code-review"'],
    ['code-reveiw', 'looks like "code-review"'],
    ['review-code', 'looks like "code-review"'],
    ['code-review-pro', 'looks like "code-review"'],
    ['incident-rep0rts', 'looks like "incident-report"'],
    ['kit-es', 'looks like "kites"'],
    ['Code Review', 'is no name'],
    ['с\u043ede-review', 'is no name'],
    ['../kites', 'is no name'],
  ])('is refused where it is taken for another: %s', (name, why) => {
    expect(named(name)).toThrow(why)
  })

  it('may look like another one if an operator says that this is meant, and never be one that ships', () => {
    expect(named('kit-es', { isMeant: true })).not.toThrow()
    expect(named('code-review', { isMeant: true })).toThrow('ships with this deployment')
    expect(named('sailing')).not.toThrow()
  })
})

/** A header of a .tar, with its sum, and what it is of. */
function tarEntry(
  name: string,
  more: {
    readonly text?: string
    readonly type?: string
    readonly size?: number
    readonly sum?: number
  } = {},
) {
  const { text = '', type = '0', size = text.length, sum = 0 } = more
  const header = new Uint8Array(512)
  const put = (at: number, value: string) => header.set(bytesOf(value), at)
  put(0, name.slice(0, 100))
  put(100, '0000644\0')
  put(124, `${size.toString(8).padStart(11, '0')}\0`)
  put(148, '        ')
  put(156, type)
  put(257, 'ustar\0')
  const total = header.reduce((all, byte) => all + byte, sum)
  put(148, `${total.toString(8).padStart(6, '0')}\0 `)
  const content = new Uint8Array(Math.ceil(text.length / 512) * 512)
  content.set(bytesOf(text))
  return [header, content]
}
const tarOf = (...entries: readonly (readonly Uint8Array[])[]) =>
  new Uint8Array(gzipSync(Buffer.concat([...entries.flat(), new Uint8Array(1_024)])))
const skill = kites().files['SKILL.md'] ?? ''
const own = tarEntry('kites/SKILL.md', { text: skill })

describe('T26: an archive of skills', () => {
  const structural = tricks.filter(([group]) => !['sizes', 'contents'].includes(group))
  const cases = structural.flatMap(([, some]) => some)
  it.each(cases)('is refused like one of a plugin: %s', (_name, archive, message) => {
    const bytes = archive()
    // What does not begin as an archive is taken for a SKILL.md, and is none.
    const [first] = bytes[0] === 0x50 ? [] : readSkills(bytes, [])
    if (first) expect(first.problem).toContain('three hyphens')
    else expect(() => readSkills(bytes, [])).toThrow(message)
  })

  it('is read as a .tar.gz too, long names and all', () => {
    const long = `kites/${'deep/'.repeat(5)}${'n'.repeat(100)}.md`
    const record = ` path=${long}\n`
    const length = record.length + String(record.length + 3).length
    const pax = tarEntry('x', { type: 'x', text: `${length}${record}` })
    const global = tarEntry('pax_global_header', { type: 'g', text: '16 comment=abc\n' })
    const folder = tarEntry('kites/', { type: '5' })
    const archive = tarOf(global, folder, own, pax, tarEntry('kites/cut', { text: 'Deep.' }))
    const [read] = readSkills(archive, [])
    expect(read?.bundle?.fields).toEqual(kites().fields)
    expect(Object.keys(read?.bundle?.files ?? {})).toEqual([
      'SKILL.md',
      long.slice('kites/'.length),
    ])
  })

  it.each([
    ['a symbolic link', tarOf(own, tarEntry('kites/a', { type: '2' })), 'is a link'],
    ['a hard link', tarOf(own, tarEntry('kites/a', { type: '1' })), 'is a link'],
    ['a device', tarOf(own, tarEntry('kites/a', { type: '3' })), 'is a link, or no file'],
    ['a path that leaves it', tarOf(own, tarEntry('kites/../../x')), 'leaves the folder'],
    ['an absolute path', tarOf(own, tarEntry('/etc/x')), 'is absolute'],
    [
      'a path that leaves it by a long name',
      tarOf(own, tarEntry('x', { type: 'x', text: '21 path=../../escape\n' }), tarEntry('kites/a')),
      'leaves the folder',
    ],
    ['a file twice', tarOf(own, own), 'two files'],
    ['a size that lies', tarOf(own, tarEntry('kites/a', { size: 9_999_999 })), 'cut off'],
    ['a sum that is wrong', tarOf(own, tarEntry('kites/a', { sum: 1 })), 'damaged'],
    [
      'a bomb',
      new Uint8Array(gzipSync(Buffer.alloc(skillCaps.archive.maxUnpackedBytes + 1_024))),
      'bytes unpacked',
    ],
    ['bytes that are no gzip', new Uint8Array([0x1f, 0x8b, 8, 0, 1, 2, 3]), 'unpacked|SKILL'],
  ])('as a .tar.gz it is refused with %s', (_what, archive, why) => {
    expect(() => readSkills(archive, [])).toThrow(new RegExp(why))
  })

  it('is refused with more skills than come at once, or none', () => {
    const many = Array.from({ length: 201 }, (_unused, at) => [`s${at}/SKILL.md`, skill] as const)
    expect(() => readSkills(zipOf(Object.fromEntries(many)), [])).toThrow('200 at most')
    expect(() => readSkills(zipOf({ 'a.md': 'x' }), [])).toThrow('no SKILL.md')
    expect(() => readSkills(zipOf({ 'SKILL.md': skill }), ['sailing'])).toThrow('It has "kites"')
  })

  it.each([
    [
      'a bomb of aliases',
      'a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]',
    ],
    ['a tag of its own', 'name: !!js/function x'],
    ['a key that is every object’s', '__proto__: { a: b }'],
    ['a key twice', 'name: a\nname: b'],
    ['depth', `name: ${'['.repeat(100)}`],
  ])('T26: says what is wrong with front matter that has %s', (_what, yaml) => {
    const [read] = readSkills(bytesOf(`---\ndescription: x\n${yaml}\n---\n`), [])
    const problem = read?.problem ?? ''
    const fields = read?.bundle?.fields ?? {}
    expect(problem !== '' || JSON.stringify(fields).length < skillCaps.maxFieldsChars).toBe(true)
    expect(({} as Record<string, unknown>)['a']).toBeUndefined()
  })
})
