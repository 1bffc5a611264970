import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import command from '../../../cli/skill.ts'
import { ApiError } from '../../../src/client/client.ts'
import { runVerb } from '../../fakes/run-verb.ts'
import { skillBundle } from '../../fakes/skills.ts'
import { zipOf } from '../../fakes/zip.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'isola-skills-'))))
afterEach(() => rmSync(folder, { recursive: true }))

function put(path: string, text: string | Uint8Array) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
const putSkill = (path: string, name: string) =>
  put(`${path}/SKILL.md`, skillBundle(name, `Does ${name}.`, 'The way.').files['SKILL.md'] ?? '')

interface Sent {
  readonly route: string
  readonly body?: Record<string, unknown>
}
type Reply = (sent: Sent) => unknown
const changes = {
  from: 'a'.repeat(64),
  requires: { added: ['tool:x__y'], removed: [] },
  files: [{ path: 'SKILL.md', is: 'changed', added: 1, removed: 0, moved: 0, lines: ['+ Steal.'] }],
}
const added = (name: string, more: object = {}) => ({
  name,
  hash: 'b'.repeat(64),
  tier: 'community',
  description: `Does ${name}.`,
  kind: 'skill',
  requires: [],
  files: [],
  source: 'folder',
  notes: [],
  ...more,
})

/** Runs a verb against a server with this reply, without a terminal. */
async function run(
  verb: keyof typeof command.verbs,
  args: readonly string[],
  { values = {}, reply = () => ({}) }: { readonly values?: object; readonly reply?: Reply } = {},
) {
  let [json, text, stderr]: [unknown, string, string] = [undefined, '', '']
  const sent: Sent[] = []
  const print = (value: unknown, lines = '') => ([json, text] = [value, lines])
  const request = async (route: string, { body }: { readonly body?: Sent['body'] } = {}) => {
    const one = { route, ...(body && { body }) }
    sent.push(one)
    return reply(one)
  }
  const stdin = Object.assign(Readable.from([]), { isTTY: false })
  const io = {
    args,
    values,
    print,
    request,
    stdin,
    stderr: { write: (said: string) => (stderr += said) },
  }
  const code = await runVerb(command.verbs[verb], io)
  return { code, json, text, sent, stderr }
}
const adds: Reply = ({ body }) => {
  const name = String(Object(Object(body?.['bundle']).fields).name)
  return { skills: [added(name)], refused: [] }
}

describe('isola skill add', () => {
  it('sends each skill of a folder by itself, with its texts, and says what it leaves out', async () => {
    putSkill('skills/weaving', 'weaving')
    put('skills/weaving/refs/a.md', 'A')
    put('skills/weaving/logo.png', new Uint8Array([0x89, 0, 1]))
    put('skills/weaving/triggers.yaml', 'finds: [x]')
    put('skills/weaving/.git/config', 'x')
    putSkill('skills/dyeing', 'dyeing')
    symlinkSync('/etc/hostname', join(folder, 'skills/dyeing/link.md'))
    const { sent, text, code } = await run('add', [folder], { reply: adds })
    const bodies = sent.map(({ body }) => body)
    expect(bodies).toMatchObject([
      { folder: 'dyeing', bundle: { fields: { name: 'dyeing' } } },
      { folder: 'weaving', bundle: { files: { 'refs/a.md': 'A' } } },
    ])
    const paths = bodies.map((body) => Object.keys(Object(body?.['bundle']).files as object))
    expect(paths).toEqual([['SKILL.md'], ['SKILL.md', 'refs/a.md']])
    expect([code, text]).toEqual([
      0,
      expect.stringContaining('left out, since they are no text: "logo.png"'),
    ])
  })

  it('C5: sends nothing whose name begins with a dot, of a folder or a zip, and names it', async () => {
    const { 'SKILL.md': entry } = skillBundle('weaving', 'Does.', 'The way.').files
    const hidden = { '.env': 'KEY=1', 'refs/.npmrc': 'x', '.cache/a/b.md': 'x' }
    const files = { 'SKILL.md': entry ?? '', 'refs/a.md': 'A', ...hidden }
    // A folder above a skill may be hidden: agents keep theirs there.
    for (const [path, text] of Object.entries(files)) put(`.claude/skills/weaving/${path}`, text)
    put('all.zip', zipOf(files))
    for (const given of [folder, join(folder, 'all.zip')]) {
      const { sent, text } = await run('add', [given], { reply: adds })
      const paths = sent.map(({ body }) => Object.keys(Object(body?.['bundle']).files as object))
      expect(paths).toEqual([['SKILL.md', 'refs/a.md']])
      expect(text).toContain('left out, since they are hidden: ')
      for (const path of Object.keys(hidden)) expect(text).toContain(`"${path}"`)
    }
  })

  it('reads a zip here, takes those that are named, and hands an address on', async () => {
    const files = ['weaving', 'dyeing'].map((name) => {
      const { 'SKILL.md': text } = skillBundle(name, 'Does.', 'The way.').files
      return [`repo-main/${name}/SKILL.md`, text] as const
    })
    put('all.zip', zipOf(Object.fromEntries(files)))
    const picked = await run('add', [join(folder, 'all.zip')], {
      values: { skill: ['dyeing'] },
      reply: adds,
    })
    expect(picked.sent.map(({ body }) => body?.['source'])).toEqual(['all.zip'])
    const none = run('add', [join(folder, 'all.zip')], { values: { skill: ['x'] } })
    await expect(none).rejects.toThrow('It has "dyeing", "weaving"')
    const url = 'https://skills.example'
    const reply = () => ({ skills: [], refused: [{ name: 'a', code: 'b', message: 'no' }] })
    const { sent, ...said } = await run('add', [url], { values: { skill: ['a'] }, reply })
    expect(sent).toEqual([{ route: 'POST /api/operator/skills', body: { url, skills: ['a'] } }])
    expect(said).toMatchObject({ code: 1, text: '', stderr: 'a is refused: no\n' })
  })

  it('goes on where one of many is refused, and fails where the server does', async () => {
    putSkill('weaving', 'weaving')
    putSkill('dyeing', 'dyeing')
    put('broken/SKILL.md', '---\nname: [\n---\n')
    const reply: Reply = (one) => {
      const [skill] = (adds(one) as { readonly skills: readonly { readonly name: string }[] })
        .skills
      if (skill?.name === 'dyeing') throw new ApiError(422, { code: 'x', message: 'looks like' })
      return { skills: [skill], refused: [] }
    }
    const { json, code } = await run('add', [folder], { reply })
    expect(code).toBe(1)
    expect(json).toMatchObject({
      skills: [{ name: 'weaving' }],
      refused: [{ name: 'broken' }, { name: 'dyeing', message: 'looks like' }],
    })
    const away = run('add', [folder], {
      reply: () => {
        throw new ApiError(503, { code: 'unavailable' })
      },
    })
    await expect(away).rejects.toThrow('503')
  })

  it('takes a version over an enabled one into use only if that is said, and says what it changes', async () => {
    putSkill('weaving', 'weaving')
    const notes = ['… goes on until an operator takes this one']
    const reply: Reply = ({ route }) =>
      route.endsWith('/update')
        ? { notes: ['It requires more than the version before: tool:x__y. So it is disabled.'] }
        : { skills: [added('weaving', { changes, notes })], refused: [] }
    const routes = async (values: object) =>
      (await run('add', [folder], { values, reply })).sent.map(({ route }) => route)
    expect(await routes({})).toEqual(['POST /api/operator/skills'])
    expect(await routes({ yes: true })).toEqual([
      'POST /api/operator/skills',
      'POST /api/operator/skills/:skill/update',
    ])
    expect(await routes({ yes: true, 'dry-run': true })).toEqual(['POST /api/operator/skills'])
    const { text } = await run('add', [folder], { reply })
    expect(text).toContain('+ requires tool:x__y')
    expect(text).toContain('SKILL.md (changed): 1 lines new, 0 gone\n    + Steal.')
    const taken = await run('add', [folder], { values: { yes: true }, reply })
    expect(taken.text).toContain('from now on.\nIt requires more than the version before')
  })

  it('shows another version whole, with the blanks in a line and what has moved', async () => {
    putSkill('weaving', 'weaving')
    const gone = Array.from({ length: 240 }, (_unused, at) => `- Line  ${at}.`)
    const lines = [...gone, '< Ask first.', '+ Steal.', '> Ask first.']
    const files = [{ path: 'a.md', is: 'changed', added: 2, removed: 241, moved: 1, lines }]
    const reply: Reply = () => ({
      skills: [added('weaving', { changes: { ...changes, files } })],
      refused: [],
    })
    const { text } = await run('add', [folder], { reply })
    expect(text).toContain('1 lines new, 240 gone, 1 moved (< from here, > to here)')
    expect(text).toContain(lines.map((line) => `    ${line}`).join('\n'))
  })

  it('refuses the second of two in a collection that have one name, and takes the first', async () => {
    putSkill('a', 'weaving')
    putSkill('b', 'weaving')
    const { json, sent } = await run('add', [folder], { reply: adds })
    expect(sent).toHaveLength(1)
    expect(json).toMatchObject({
      refused: [{ name: 'b', message: expect.stringContaining('in the folder a') as string }],
    })
  })

  it('installs what has no name under that of its folder, also where a zip has this folder alone', async () => {
    put('one.zip', zipOf({ 'weaving/SKILL.md': '---\ndescription: Weaves.\n---\nThe way.' }))
    const { sent } = await run('add', [join(folder, 'one.zip')], { reply: adds })
    expect(sent.map(({ body }) => body?.['folder'])).toEqual(['weaving'])
    put('top.zip', zipOf({ 'SKILL.md': '---\nname: dyeing\ndescription: Dyes.\n---\nThe way.' }))
    const top = await run('add', [join(folder, 'top.zip')], { reply: adds })
    expect(top.sent.map(({ body }) => body?.['folder'])).toEqual([undefined])
  })

  it('refuses what is neither, and a key for what is not read here', async () => {
    await expect(run('add', [join(folder, 'none')])).rejects.toThrow('is none of')
    await expect(run('add', [folder])).rejects.toThrow('There is no SKILL.md')
    const signed = run('add', ['https://skills.example'], { values: { key: 'k' } })
    await expect(signed).rejects.toThrow('--key')
  })
})

describe('isola skill update', () => {
  const [has, next] = ['a'.repeat(64), 'b'.repeat(64)]
  const shown = (more: object) => ({
    hash: has,
    versions: [{ hash: next }, { hash: has }],
    ...more,
  })
  const reply =
    (skill: object): Reply =>
    ({ route, body }) => {
      if (route.startsWith('GET')) return skill
      if (route.endsWith('/update'))
        return { hash: body?.['hash'], changes, notes: [], generation: 2 }
      return { skills: [added('weaving', { changes })], refused: [] }
    }

  it('shows what the newest that waits changes, and takes exactly that', async () => {
    const dry = await run('update', ['weaving'], {
      values: { 'dry-run': true },
      reply: reply(shown({})),
    })
    expect(dry.text).toContain('+ Steal.')
    expect(dry.sent.at(-1)?.body).toEqual({ hash: next, dryRun: true })
    const done = await run('update', ['weaving'], {
      values: { yes: true },
      reply: reply(shown({})),
    })
    expect(done.sent.at(-1)?.body).toEqual({ hash: next })
    await expect(run('update', ['weaving'], { reply: reply(shown({})) })).rejects.toThrow('--yes')
  })

  it('looks where it came from by an address, and brings nothing before it is confirmed', async () => {
    const url = 'https://skills.example/index.json'
    const skill = shown({ versions: [{ hash: has }], source: url })
    const { sent } = await run('update', ['weaving'], {
      values: { yes: true },
      reply: reply(skill),
    })
    expect(sent.map(({ route, body }) => [route, body?.['dryRun']])).toEqual([
      ['GET /api/operator/skills/:skill', undefined],
      ['POST /api/operator/skills', true],
      ['POST /api/operator/skills', undefined],
      ['POST /api/operator/skills/:skill/update', undefined],
    ])
    const local = shown({ versions: [{ hash: has }], source: 'folder a' })
    await expect(run('update', ['weaving'], { reply: reply(local) })).rejects.toThrow(
      'Nothing waits',
    )
  })
})

describe('isola skill enable, disable and remove', () => {
  it('name what was seen, and what goes', async () => {
    const reply: Reply = () => ({ hash: 'a'.repeat(64), notes: [], generation: 1 })
    const on = await run('enable', ['weaving'], { reply })
    expect(on.sent.at(-1)?.body).toEqual({ hash: 'a'.repeat(64) })
    expect((await run('disable', ['weaving'], { reply })).text).toBe('weaving is disabled.')
    const dry = await run('remove', ['weaving'], { values: { 'dry-run': true }, reply })
    expect(dry.sent.map(({ route }) => route)).toEqual(['GET /api/operator/skills/:skill'])
    expect((await run('remove', ['weaving'], { reply })).text).toBe('weaving is gone.')
  })

  it('T24: enable the version that was looked at, and none that came since', async () => {
    const [seen, newer] = ['a'.repeat(64), `${'a'.repeat(12)}${'b'.repeat(52)}`]
    const having =
      (hash: string, ...others: readonly string[]): Reply =>
      ({ route }) =>
        route.startsWith('GET')
          ? { hash, versions: [hash, ...others].map((one) => ({ hash: one })) }
          : { notes: [], generation: 1 }
    const enable = (start: string, reply: Reply) => run('enable', ['weaving', start], { reply })
    const on = await enable(seen.slice(0, 12), having(seen))
    expect(on.sent.at(-1)?.body).toEqual({ hash: seen })
    expect(on.text).toBe(`weaving is enabled in version ${seen}.`)
    await expect(enable(seen.slice(0, 12), having('c'.repeat(64), seen))).rejects.toThrow(
      'has version cccccccccccc now. Look again',
    )
    await expect(enable(seen.slice(0, 12), having(newer, seen))).rejects.toThrow('more than one')
    await expect(enable(seen, having(newer, seen))).rejects.toThrow('Look again')
    await expect(enable(seen.slice(0, 11), having(seen))).rejects.toThrow('12 to 64')
  })
})
