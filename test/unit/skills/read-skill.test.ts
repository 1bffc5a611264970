import { describe, expect, it } from 'vitest'
import { readYaml } from '../../../src/features/plugins/admission/read-yaml.ts'
import { readSkill } from '../../../src/features/skills/read-skill.ts'

const parseYaml = (text: string) => readYaml(text, 'SKILL.md')
const read = (text: string, folder = 'tidy-notes') => readSkill(text, { folder, parseYaml })
const file = (...lines: readonly string[]) => ['---', ...lines, '---', '', '# Body', ''].join('\n')
const valid = ['name: tidy-notes', 'description: Tidies notes. Use when notes are a mess.']
const said = (text: string, folder?: string) =>
  read(text, folder).diagnostics.map(({ severity, field = '', message }) =>
    [severity, field, message].filter(Boolean).join(' '),
  )

describe('P7: a SKILL.md', () => {
  it('is read with what the specification knows of it', () => {
    const text = file(
      ...valid,
      'license: MIT',
      'compatibility: Needs git',
      'allowed-tools: Read Bash(git:*)',
      'metadata:',
      '  author: somebody',
      '  version: "1.0"',
    )
    expect(read(text)).toEqual({
      skill: {
        name: 'tidy-notes',
        description: 'Tidies notes. Use when notes are a mess.',
        kind: 'skill',
        requires: [],
        license: 'MIT',
        compatibility: 'Needs git',
        allowedTools: 'Read Bash(git:*)',
        metadata: { author: 'somebody', version: '1.0' },
        frontMatter: {
          name: 'tidy-notes',
          description: 'Tidies notes. Use when notes are a mess.',
          license: 'MIT',
          compatibility: 'Needs git',
          'allowed-tools': 'Read Bash(git:*)',
          metadata: { author: 'somebody', version: '1.0' },
        },
        body: '# Body',
      },
      diagnostics: [],
    })
  })

  it('keeps all of its front matter for others, but not what only a lenient reader finds', () => {
    const text = file(...valid, 'version: 2', 'hooks: [{ on: start }]')
    const { name, description, ...more } = read(text).skill!.frontMatter!
    expect([name, description]).toEqual(['tidy-notes', 'Tidies notes. Use when notes are a mess.'])
    expect(more).toEqual({ version: 2, hooks: [{ on: 'start' }] })
    const odd = read(file('name: tidy-notes', 'description: Tidies: notes'))
    expect(odd.skill).toMatchObject({ description: 'Tidies: notes' })
    expect(odd.skill).not.toHaveProperty('frontMatter')
  })

  it('says its kind and what it needs under metadata', () => {
    const text = file(
      ...valid,
      'metadata:',
      '  isola-kind: persona',
      '  isola-requires: tool:sql__query plugin:http',
    )
    expect(read(text).skill).toMatchObject({
      kind: 'persona',
      requires: ['tool:sql__query', 'plugin:http'],
    })
    expect(read(text).diagnostics).toEqual([])
  })

  it('has a note where one of our keys means nothing', () => {
    const text = file(...valid, 'metadata:', '  isola-kind: spell', '  isola-requires: luck')
    expect(read(text).skill).toMatchObject({ kind: 'skill', requires: [] })
    expect(said(text)).toEqual([
      'note metadata isola-kind is spell; it may be skill or persona, and is taken for skill',
      'note metadata isola-requires has luck, which means nothing: write tool:<name> or plugin:<id>',
    ])
  })

  it.each([
    ['no front matter', '# Only a body', 'must begin with a line of three hyphens (---)'],
    ['an end that is missing', '---\nname: a', 'the front matter does not end'],
    ['a list', '---\n- a\n---\n', 'the front matter must be a mapping'],
    ['no description', file('name: tidy-notes'), 'description is missing or empty'],
    ['an empty description', file('name: tidy-notes', "description: ' '"), 'is missing or empty'],
    ['YAML that cannot be read', file('name: [a', 'description: b'), 'SKILL.md:'],
    ['a key that is there twice', file(...valid, 'name: again'), 'SKILL.md:4:'],
    [
      'an alias bomb',
      file('name: &a [x]', ...Array.from({ length: 60 }, (_, n) => `k${n}: *a`)),
      'SKILL.md:',
    ],
    ['too long a text', file(...valid) + 'x'.repeat(300_000), '262144 are the most'],
  ])('is skipped with %s, and says why', (_name, text, why) => {
    const { skill, diagnostics } = read(text)
    expect(skill).toBeUndefined()
    expect(diagnostics.map(({ severity }) => severity)).toEqual(['error'])
    expect(said(text)[0]).toContain(why)
  })

  it.each([
    ['in capitals', 'Tidy-Notes', 'must be lowercase'],
    ['with blanks', 'tidy notes', 'letters, digits and hyphens only'],
    ['with a hyphen at its end', 'tidy-', 'must not begin or end with a hyphen'],
    ['with two hyphens', 'tidy--notes', 'two hyphens in a row'],
    ['that is too long', 'a'.repeat(65), '64 are the most'],
    ['that is not the folder’s', 'other', 'must be the name of its folder'],
    ['that hides a character', 'tidy\u200bnotes', 'letters, digits and hyphens only'],
  ])('is loaded with a name %s, which is a warning', (_name, name, why) => {
    const text = file(`name: "${name}"`, 'description: d')
    const folder = name === 'other' ? 'tidy-notes' : name
    expect(read(text, folder).skill).toMatchObject({ name })
    expect(said(text, folder)).toContainEqual(expect.stringMatching(`^warning name .*${why}`))
  })

  it('takes letters of any alphabet for a name', () => {
    expect(
      read(file('name: größe-überprüfen', 'description: d'), 'größe-überprüfen').diagnostics,
    ).toEqual([])
  })

  it('has the name of its folder where it has none', () => {
    expect(read(file('description: d')).skill).toMatchObject({ name: 'tidy-notes' })
    expect(said(file('description: d'))[0]).toContain('warning name is missing')
  })

  it.each([
    [
      'a key that the specification does not know',
      [...valid, 'version: 1'],
      'warning version is no key',
    ],
    [
      'a long description',
      ['name: tidy-notes', `description: ${'a'.repeat(1_025)}`],
      'has 1025 characters',
    ],
    ['a long compatibility', [...valid, `compatibility: ${'a'.repeat(501)}`], 'has 501 characters'],
    [
      'a compatibility that is a list',
      [...valid, 'compatibility: [a]'],
      'compatibility must be a text',
    ],
    [
      'metadata that is nested',
      [...valid, 'metadata: { other: { a: 1 } }'],
      'note metadata only texts',
    ],
  ])('is loaded with %s, and says so', (_name, lines, why) => {
    const text = file(...lines)
    expect(read(text).skill).toBeDefined()
    expect(said(text).join()).toContain(why)
  })

  it('is read as if quoted where a text has a colon and a blank', () => {
    const text = file('name: tidy-notes', 'description: Use when: the notes are a mess')
    expect(read(text).skill).toMatchObject({ description: 'Use when: the notes are a mess' })
    expect(said(text)[0]).toContain('warning description has a colon and a blank')
  })

  it('may have a byte order mark and the line ends of Windows', () => {
    const text = `\ufeff${file(...valid).replaceAll('\n', '\r\n')}`
    expect(read(text).skill).toMatchObject({ name: 'tidy-notes', body: '# Body' })
    expect(said(text)).toEqual(['warning begins with a byte order mark: save it without one'])
  })

  it('keeps a rule of hyphens in its body', () => {
    expect(read(`${file(...valid)}\n---\nmore`).skill?.body).toBe('# Body\n\n---\nmore')
  })
})
