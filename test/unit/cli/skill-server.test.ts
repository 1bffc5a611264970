import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import command from '../../../cli/skill.ts'
import { runVerb } from '../../fakes/run-verb.ts'
import { libraryOf, skillSource } from '../../fakes/skills.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'isola-skills-'))))
afterEach(() => rmSync(folder, { recursive: true }))

function put(path: string, text: string) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

type Verbs = typeof command.verbs
async function run(verb: keyof Verbs, args: readonly string[], request?: unknown) {
  let [json, text]: [unknown, string] = [undefined, '']
  const print = (value: unknown, lines = '') => ([json, text] = [value, lines])
  const code = await runVerb(command.verbs[verb], { args, print, request })
  return { code, json, text }
}

/** A server that has these. */
function serverWith(files: Readonly<Record<string, string>> = {}) {
  const requires = ['tool:code__run']
  const library = libraryOf([
    skillSource('tidy', 'Tidies a room.', { requires, files }),
    skillSource('calm', 'A calm voice.', { kind: 'persona' }),
  ])
  const nothing = async () => false
  return async (route: string, { params }: { readonly params?: { readonly skill: string } } = {}) =>
    route === 'GET /api/operator/skills'
      ? { skills: await library.list(nothing) }
      : await library.show(params?.skill ?? '', nothing)
}

describe('the skills of a server', () => {
  it('E9: are listed with what each costs, what it lacks, and that a persona is never found', async () => {
    const { text, json } = await run('list', [], serverWith())
    expect(json).toMatchObject({
      skills: [
        { name: 'calm', state: 'ready', tokens: { found: 0 } },
        { name: 'tidy', state: 'gated', missing: ['tool:code__run'] },
      ],
    })
    expect(text).toMatch(/^calm +persona +builtin +0 +\d+ +never found +A calm voice\.$/m)
    expect(text).toMatch(/^tidy +skill +builtin +\d+ +\d+ +needs tool:code__run +Tidies a room\.$/m)
    expect((await run('list', [], async () => ({ skills: [] }))).text).toBe('There is no skill.')
  })

  it('are shown one by one', async () => {
    const { text } = await run('show', ['tidy'], serverWith({ 'a.md': 'A' }))
    expect(text).toContain('tidy (skill, builtin): needs tool:code__run')
    expect(text).toContain('files: SKILL.md, a.md')
  })

  it('are written into a new folder, and into none that is there', async () => {
    const target = join(folder, 'tidy')
    const { json } = await run('export', ['tidy', target], serverWith({ 'more/a.md': 'A' }))
    expect(json).toEqual({ folder: target, files: ['SKILL.md', 'more/a.md'] })
    expect(readFileSync(join(target, 'more/a.md'), 'utf8')).toBe('A')
    await expect(run('export', ['tidy', target], serverWith())).rejects.toThrow('is there already')
  })

  it.each(['../stolen.md', '/tmp/isola-stolen.md', 'a/../../stolen.md', '.'])(
    'write nothing where the server names a file outside: %s',
    async (path) => {
      const target = join(folder, 'in/tidy')
      await expect(run('export', ['tidy', target], serverWith({ [path]: 'x' }))).rejects.toThrow(
        'outside of the skill',
      )
      expect([existsSync(target), existsSync(join(folder, 'in/stolen.md'))]).toEqual([false, false])
    },
  )
})

describe('isola skill test', () => {
  const skill = '---\nname: pottery\ndescription: Throws pots on a wheel.\n---\n# Steps\n'

  it('P7: says which phrase does not find its skill, or must not, and fails', async () => {
    put('pottery/SKILL.md', skill)
    put(
      'pottery/triggers.yaml',
      'finds: [throw pots, bake a cake]\nmisses: [write a plugin, pots on a wheel]\n',
    )
    const { code, text, json } = await run('test', [join(folder, 'pottery')])
    expect(code).toBe(1)
    expect(text.split('\n')).toEqual([
      'pottery is not found by: bake a cake (finds nothing)',
      'pottery must not be found by: pots on a wheel (finds pottery)',
      '1 of 2 phrases find their skill, 1 of 2 miss it as they must.',
    ])
    expect(json).toMatchObject({ finds: { right: 1, of: 2 }, misses: { right: 1, of: 2 } })
  })

  it('succeeds where all do what they must, and asks a persona nothing', async () => {
    put('all/pottery/SKILL.md', skill)
    put('all/pottery/triggers.yaml', 'finds: [throw pots]\nmisses: [bake a cake]\n')
    put(
      'all/calm/SKILL.md',
      '---\nname: calm\ndescription: Calm.\nmetadata:\n  isola-kind: persona\n---\n',
    )
    expect((await run('test', [join(folder, 'all')])).code).toBe(0)
  })

  it.each([
    ['no phrases', undefined, 'has no triggers.yaml'],
    ['one side alone', 'finds: [a]', 'misses must be a list'],
    ['no phrase in a list', 'finds: []\nmisses: [a]', 'finds must be a list'],
    ['a phrase that is no text', 'finds: [{ a: 1 }]\nmisses: [a]', 'finds must be a list'],
    ['another key', 'finds: [a]\nmisses: [b]\nwants: [c]', 'wants is no key'],
    ['no YAML', 'finds: [', 'triggers.yaml'],
  ])('fails for a skill with %s, and says so', async (_what, triggers, message) => {
    put('pottery/SKILL.md', skill)
    if (triggers !== undefined) put('pottery/triggers.yaml', triggers)
    const { code, text } = await run('test', [join(folder, 'pottery')])
    expect([code, text]).toEqual([1, expect.stringContaining(message) as string])
  })
})
