import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import command from '../../../cli/skill.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'isola-skills-'))))
afterEach(() => rmSync(folder, { recursive: true }))

function put(path: string, text: string | Uint8Array) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
const skill = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: What ${name} does.\n${more}---\n# Steps\n`

async function validate(...names: readonly string[]) {
  let json: readonly Record<string, unknown>[] = []
  let text = ''
  const code = await command.verbs.validate.run({
    args: names.map((name) => join(folder, name)),
    print: (value: never, lines: string) => ([json, text] = [value, lines]),
  } as never)
  const files = json.map((file) => ({
    ...file,
    path: String(file['path']).replaceAll(`${folder}/`, ''),
  }))
  return { code, text, files }
}

it('P7: isola skill validate says of each file whether it is loaded, and what is wrong', async () => {
  put('all/one/SKILL.md', skill('one'))
  put('all/deep/two/SKILL.md', skill('two', 'version: 1\n'))
  put('all/three/SKILL.md', '# nothing')
  const { code, text, files } = await validate('all')
  expect(code).toBe(1)
  expect(files).toEqual([
    {
      path: 'all/deep/two/SKILL.md',
      loaded: true,
      name: 'two',
      description: 'What two does.',
      diagnostics: [expect.objectContaining({ severity: 'warning', field: 'version' })],
    },
    {
      path: 'all/one/SKILL.md',
      loaded: true,
      name: 'one',
      description: 'What one does.',
      diagnostics: [],
    },
    {
      path: 'all/three/SKILL.md',
      loaded: false,
      diagnostics: [expect.objectContaining({ severity: 'error' })],
    },
  ])
  expect(text).toContain('3 read, 2 loaded, 1 valid.')
})

it('answers 0 where all are valid, notes or not', async () => {
  put('one/SKILL.md', skill('one', 'metadata: { other: { a: 1 } }\n'))
  expect(await validate('one')).toMatchObject({ code: 0, files: [{ loaded: true }] })
})

it.each([
  [
    'what nobody sees in SKILL.md',
    () => put('odd/SKILL.md', `${skill('odd')}Steal\u{e0041}.\n`),
    'SKILL.md:6: has a character that nobody can see (\\u{e0041}).',
  ],
  [
    'what nobody sees in another file',
    () => {
      put('odd/SKILL.md', skill('odd'))
      put('odd/refs/a.md', 'a \u202e b')
    },
    'refs/a.md:1: has a character that nobody can see (\\u{202e}).',
  ],
  [
    'a name that is ours',
    () => put('isola-way/SKILL.md', skill('isola-way')),
    'name: "isola-way" is reserved for Isola itself. Choose another one in SKILL.md.',
  ],
  [
    'a persona that is too long',
    () =>
      put(
        'odd/SKILL.md',
        skill('odd', 'metadata: { isola-kind: persona }\n') + 'word '.repeat(900),
      ),
    'a persona has 510 at most',
  ],
])(
  'T23: validate refuses what `skill add` refuses, in the same words: %s',
  async (_n, prepare, why) => {
    prepare()
    const { code, files, text } = await validate('.')
    const message = expect.stringContaining(why) as unknown
    expect(files).toMatchObject([{ loaded: false, diagnostics: [{ severity: 'error', message }] }])
    expect([code, text.includes(why)]).toEqual([1, true])
  },
)

it.each([
  ['a folder without a skill', () => put('empty/README.md', 'x'), 'empty', 'no SKILL.md'],
  ['a folder that is not there', () => {}, 'gone', 'no such folder'],
  ['a file that is no skill', () => put('a.txt', 'x'), 'a.txt', 'neither a folder nor a SKILL.md'],
  [
    'bytes that are no text',
    () => put('bin/SKILL.md', Uint8Array.of(0x2d, 0xff, 0xfe)),
    'bin',
    'not text in UTF-8',
  ],
  [
    'a link in place of the file',
    () => {
      put('secret', skill('linked'))
      mkdirSync(join(folder, 'linked'))
      symlinkSync(join(folder, 'secret'), join(folder, 'linked', 'SKILL.md'))
    },
    'linked',
    'no file of its own',
  ],
])('refuses %s', async (_name, prepare, name, why) => {
  prepare()
  const { code, files } = await validate(name)
  expect(code).toBe(1)
  expect(files).toEqual([
    {
      path: expect.stringContaining(name) as unknown,
      loaded: false,
      diagnostics: [{ severity: 'error', message: expect.stringContaining(why) as unknown }],
    },
  ])
})

it('takes skill.md for SKILL.md, and its folders for its own files', async () => {
  put('one/skill.md', skill('one'))
  put('one/examples/SKILL.md', '# an example')
  expect(await validate('one')).toMatchObject({ code: 0, files: [{ name: 'one' }] })
})
