import { describe, expect, it } from 'vitest'
import { labelFrom } from '#contracts/label.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { createSkillLibrary, maxFoundSkills } from '../../../src/features/skills/skill-library.ts'
import { libraryOf, skillSource } from '../../fakes/skills.ts'

const everything = async () => true
const nothing = async () => false
const others = 'gardening cooking sailing chess astronomy music painting welding'
  .split(' ')
  .map((name) => skillSource(name, `Helps with ${name} on a weekend.`))
const minutes = skillSource('meeting-minutes', 'Writes minutes of a meeting from a transcript.')
const named = (found: readonly { readonly name: string }[]) => found.map(({ name }) => name)

describe('P7: a skill is found', () => {
  it('by what it says it is for, with its description and nothing else', async () => {
    const library = libraryOf([...others, minutes])
    expect(await library.find(['write minutes of our meeting'], everything)).toEqual([
      { name: 'meeting-minutes', description: 'Writes minutes of a meeting from a transcript.' },
    ])
  })

  it('not by a word or two of its text alone: what fits badly is no skill to follow', async () => {
    const body = `Open with the queen, then ${'move one piece after the other '.repeat(9)}, send a postcard.`
    const files = { 'SKILL.md': `---\nname: checkmates\n---\n\n${body}` }
    const library = libraryOf([...others, skillSource('checkmates', 'Plays.', { files }), minutes])
    expect(await library.find(['send a postcard'], everything)).toEqual([])
    expect(await library.find(['something about weekends'], everything)).toEqual([])
  })

  it(`at most ${maxFoundSkills} times, with the best of each query first`, async () => {
    const wanted = ['cooking', 'sailing', 'chess', 'astronomy']
    const found = await libraryOf([...others, minutes]).find(
      wanted.map((one) => `help with ${one}`),
      everything,
    )
    expect(named(found)).toEqual(wanted.slice(0, maxFoundSkills))
  })

  it('never if it is a persona', async () => {
    const library = libraryOf([...others, { ...minutes, kind: 'persona' }])
    expect(await library.find(['write minutes of our meeting'], everything)).toEqual([])
    expect(await library.load('meeting-minutes', { isThere: everything })).toEqual({
      ok: false,
      message: expect.stringContaining('is a persona') as string,
    })
  })

  it('not where something is missing that it requires, and the next best takes its place', async () => {
    const gated = { ...minutes, requires: ['tool:code__run', 'plugin:files'] }
    const library = libraryOf([...others, gated])
    const query = ['write minutes of our meeting']
    expect(named(await library.find(query, everything))).toEqual(['meeting-minutes'])
    expect(await library.find(query, async (one) => one === 'plugin:files')).toEqual([])
    const unknown = () => Promise.reject(new Error('nobody answers'))
    expect(await library.find(query, unknown)).toEqual([])
    expect(await library.load('meeting-minutes', { isThere: nothing })).toEqual({
      ok: false,
      message: 'meeting-minutes needs what is not here: tool:code__run, plugin:files.',
    })
  })

  it('with a long description cut', async () => {
    const long = skillSource('minutes', `Minutes ${'of a long meeting '.repeat(50)}`)
    const [found] = await libraryOf([...others, long]).find(
      ['minutes of a long meeting'],
      everything,
    )
    expect(found?.description).toHaveLength(400)
    expect(found?.description).toMatch(/…$/)
  })
})

describe('P11: a persona', () => {
  const label = labelFrom('isola__persona loud', { confidentiality: 'public' })
  const personas = [
    skillSource('loud', 'A loud voice.', { kind: 'persona', tier: 'community' }),
    skillSource('calm', 'A calm voice.', { kind: 'persona' }),
    skillSource('signed', 'A signed voice.', { kind: 'persona', tier: 'trusted' }),
  ]
  const library = libraryOf([...personas, minutes])

  it('is there by its name, with its text and whose words it is', async () => {
    const { persona, names } = await library.persona('loud', async () => true)
    const text = '# loud\n\nThe way of loud.'
    expect(persona).toEqual({ name: 'loud', hash: 'hash of loud', text, label })
    expect(names).toEqual(['calm', 'loud', 'signed'])
    for (const name of ['calm', 'signed'])
      expect((await library.persona(name, async () => true)).persona).not.toHaveProperty('label')
  })

  it('is none where there is no such name, or it is that of a skill', async () => {
    for (const name of ['shy', 'meeting-minutes', 'constructor'])
      expect(await library.persona(name, async () => true)).toEqual({
        names: ['calm', 'loud', 'signed'],
      })
  })
})

describe('P7: a skill is loaded', () => {
  const files = { 'references/b.md': 'B', 'references/a.md': 'A' }
  const library = libraryOf([skillSource('tidy', 'Tidies.', { files })])
  const load = (name: string, file?: string) => library.load(name, { file, isThere: everything })

  it('as its instructions, with the names of its files, which are not read', async () => {
    const text = '# tidy\n\nThe way of tidy.'
    expect(await load('tidy')).toEqual({
      ok: true,
      name: 'tidy',
      hash: 'hash of tidy',
      tier: 'builtin',
      text,
      tokens: text.length,
      files: ['references/b.md', 'references/a.md'],
    })
  })

  it('one file after the other', async () => {
    expect(await load('tidy', 'references/a.md')).toMatchObject({ text: 'A', tokens: 1, files: [] })
  })

  it.each([
    ['no such skill', 'tiddy', undefined, 'There is no skill named "tiddy" here.'],
    ['no such file', 'tidy', 'c.md', 'no file "c.md". It has references/b.md, references/a.md.'],
    ['a path out of its folder', 'tidy', '../other/SKILL.md', 'has no file'],
    ['a name that every object has', 'tidy', 'constructor', 'has no file'],
  ])('not of %s', async (_what, name, file, message) => {
    const refused = await load(name, file)
    expect(refused).toEqual({ ok: false, message: expect.stringContaining(message) as string })
  })

  it('rejects while skills cannot be read', async () => {
    const library = createSkillLibrary({
      sources: () => Promise.reject(new Error('away')),
      buildIndex: createSearchIndex,
      count: { ofText: () => 0 },
    })
    await expect(library.find(['x'], everything)).rejects.toThrow('away')
    await expect(library.load('x', { isThere: everything })).rejects.toThrow('away')
    await expect(library.persona('x', async () => true)).rejects.toThrow('away')
  })
})
