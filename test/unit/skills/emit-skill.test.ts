import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { labelFrom, ownLabel, saidLabel, type Label } from '../../../src/contracts/label.ts'
import { createRedactor } from '../../../src/features/record/redactor.ts'
import { createEmitSkill, draftBudget } from '../../../src/features/skills/drafts/emit-skill.ts'
import { readSkill } from '../../../src/features/skills/read-skill.ts'
import { readYaml } from '../../../src/features/plugins/admission/read-yaml.ts'
import type { Database } from '../../../src/platform/d1/database.ts'
import { createSkillDrafts } from '../../../src/features/skills/store/skill-drafts.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

const dayMs = 86_400_000
const given = {
  name: 'csv-import',
  description: 'Imports a CSV file into a table: use when rows have to be loaded.',
  instructions: `# CSV import

1. Read the head with files__read and name the columns.
2. Make the table with sql__query, each column as text at first.
3. Load a hundred rows at a time, and count them afterwards.
4. Say how many rows were loaded and which were left out, with the reason of each.`,
}
const again = {
  ...given,
  instructions: given.instructions.replace('with the reason of each', 'and why'),
}
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

function open(secrets: readonly string[] = []) {
  const { database: own, sqlite } = createSqliteDatabase()
  // As D1 does: one batch after another.
  let turn: Promise<unknown> = Promise.resolve()
  const batch: Database['batch'] = (statements) => {
    const done = turn.then(() => own.batch(statements))
    turn = done.catch(() => {})
    return done
  }
  const database = { ...own, batch }
  let [nowMs, calls] = [1_000 * dayMs, 0]
  const clock = { nowMs: () => nowMs }
  const store = createSkillDrafts(database, clock)
  const redact = createRedactor(secrets)
  const done = { model: 'openai/one', tools: ['sql__query', 'files__read', 'kv__get'] }
  const shipped = async () => ['code-review']
  const read = { count: { ofText: () => 1 }, checkPaths: () => {}, shipped }
  const deps = { ...read, store, sha256, clock, redact, doneIn: async () => done }
  const emitSkill = createEmitSkill(deps)
  const emit = (input: object, by: { principal?: string; run?: string; label?: Label } = {}) => {
    calls += 1
    const { principal = 'ann', run = `run_${calls}`, label = saidLabel } = by
    const place = { session: 'ses_1', run, call: `call_${calls}`, principal, agent: 'writer' }
    return emitSkill({ ...input }, { ...place, label })
  }
  const kept = async (input: object, by: Parameters<typeof emit>[1] = {}) => {
    const emitted = await emit(input, by)
    if (!emitted.ok) throw new Error(emitted.message)
    const id = emitted.draft ?? (await store.list(1))[0]!.id
    return (await store.find(id))!
  }
  const refused = async (input: object, by: Parameters<typeof emit>[1] = {}) => {
    const emitted = await emit(input, by)
    return emitted.ok ? `kept as ${emitted.draft ?? 'another’s'}` : emitted.message
  }
  const pass = (ms: number) => (nowMs += ms)
  return { store, sqlite, emit, kept, refused, pass }
}

describe('P9: a skill that an agent writes', () => {
  it('is a SKILL.md without a warning, which requires what its run called and its text names', async () => {
    const { kept } = open()
    const draft = await kept({ ...given, files: { 'references/types.md': 'Text first.' } })
    const text = draft.files['SKILL.md']!
    const parseYaml = (yaml: string) => readYaml(yaml, 'SKILL.md')
    const { skill, diagnostics } = readSkill(text, { folder: given.name, parseYaml })
    expect(diagnostics).toEqual([])
    expect(skill).toMatchObject({
      name: given.name,
      description: given.description,
      body: given.instructions,
      requires: ['tool:sql__query', 'tool:files__read'],
    })
    expect(draft.requires).toEqual(skill!.requires)
    expect(Object.keys(draft.files)).toEqual(['references/types.md', 'SKILL.md'])
  })

  it('keeps what YAML would read as something else', async () => {
    const { kept } = open()
    const odd = { ...given, name: 'null', description: 'Use: "when" #asked, {or} not \\ ever' }
    const text = (await kept(odd)).files['SKILL.md']!
    const { skill } = readSkill(text, {
      folder: 'null',
      parseYaml: (yaml) => readYaml(yaml, 'SKILL.md'),
    })
    expect(skill).toMatchObject({ name: 'null', description: odd.description })
  })

  it('is kept with where it came from', async () => {
    const { kept } = open()
    expect(await kept(given, { run: 'run_x' })).toMatchObject({
      state: 'open',
      principal: 'ann',
      label: saidLabel,
      count: 1,
      writings: [
        {
          session: 'ses_1',
          run: 'run_x',
          call: 'call_1',
          principal: 'ann',
          agent: 'writer',
          model: 'openai/one',
          tools: ['sql__query', 'files__read', 'kv__get'],
          label: saidLabel,
          atMs: 1_000 * dayMs,
        },
      ],
    })
  })

  it.each([
    ['no name', { name: '' }, 'name: must be lowercase words'],
    ['a name in capitals', { name: 'CSV-Import' }, 'name: must be lowercase'],
    ['a name with a way out', { name: 'a/../b' }, 'name: must be lowercase'],
    ['a long name', { name: 'a'.repeat(65) }, 'name has 65 characters; 64 are the most'],
    ['the name of one that ships', { name: 'code-review' }, 'is that of a skill that ships'],
    ['no description', { description: ' ' }, 'description is missing or empty'],
    ['a long description', { description: 'a'.repeat(1_025) }, 'description has 1025 characters'],
    ['a description in lines', { description: 'a\nb' }, 'description: must be one line'],
    ['no instructions', { instructions: '\n' }, 'instructions: are empty'],
    ['long instructions', { instructions: 'a'.repeat(20_001) }, 'instructions: have 20001'],
    [
      'tags that nobody sees',
      { instructions: 'a \u{e0041} b' },
      'SKILL.md:6: has a character that nobody',
    ],
    ['text that runs backwards', { files: { 'a.md': 'a \u202e b' } }, 'a.md:1: has a character'],
    ['a hidden mark in its description', { description: 'a \u200b b' }, 'description: must be one'],
    ['a path with a way out', { files: { '../a.md': 'a' } }, 'files: a path must be'],
    ['a path from the root', { files: { '/a.md': 'a' } }, 'files: a path must be'],
    ['a hidden file', { files: { '.env': 'a' } }, 'files: a path must be'],
    ['a deep path', { files: { 'a/b/c/d/e.md': 'a' } }, 'files: a path must be'],
    ['its own SKILL.md', { files: { 'skill.md': 'a' } }, 'files: SKILL.md is made of'],
    ['an empty file', { files: { 'a.md': '' } }, 'files: each must have 1 to 20000'],
    ['a long file', { files: { 'a.md': 'a'.repeat(20_001) } }, 'files: each must have 1 to'],
    ['no text for a file', { files: { 'a.md': { b: 1 } } }, 'files: each must have 1 to'],
    [
      'too much in all',
      { files: Object.fromEntries(['a', 'b', 'c'].map((one) => [one, one.repeat(20_000)])) },
      'characters in all; 60000 are the most',
    ],
    [
      'too many files',
      { files: Object.fromEntries(Array.from('abcdefghi', (one) => [one, one])) },
      'files: 8 are the most',
    ],
  ])('T23: is refused with %s, and says what to change', async (_what, more, why) => {
    const { refused, store } = open()
    expect(await refused({ ...given, ...more })).toContain(why)
    expect(await store.list(10)).toEqual([])
  })

  it('C5: has no secret of the deployment in it, nor in the name of a file', async () => {
    const { kept, refused, emit } = open(['sk-very-secret-value'])
    const leaks = { ...given, instructions: `${given.instructions}\nUse sk-very-secret-value.` }
    expect(await emit(leaks)).toMatchObject({ ok: true, redacted: 1 })
    const draft = await kept(leaks)
    expect(JSON.stringify(draft)).not.toContain('sk-very')
    expect(draft.files['SKILL.md']).toContain('Use [redacted].')
    expect(await refused({ ...given, files: { 'sk-very-secret-value': 'a' } })).toContain('path')
  })
})

describe('P9: nearly the same again', () => {
  it('is one draft with one more writing, and has the newer text', async () => {
    const { kept, pass, store } = open()
    const first = await kept(given)
    pass(dayMs)
    const second = await kept(again)
    expect(second).toMatchObject({ id: first.id, count: 2, firstAtMs: first.firstAtMs })
    expect(second.lastAtMs).toBe(first.lastAtMs + dayMs)
    expect(second.writings.map(({ hash }) => hash)).toEqual([second.hash, first.hash])
    expect(second.files['SKILL.md']).toContain('and why')
    expect(await store.list(10)).toHaveLength(1)
  })

  it('T23: does not take the place of what was written before a stranger was read', async () => {
    const { kept } = open()
    const first = await kept(given)
    const page = labelFrom('http__get evil.example', { confidentiality: 'public' })
    const second = await kept(again, { label: page })
    expect(second).toMatchObject({ id: first.id, hash: first.hash, label: saidLabel, count: 2 })
    expect(second.writings.map(({ label }) => label.integrity).toSorted()).toEqual([
      'stranger',
      'user',
    ])
    const better = await kept(given, { label: ownLabel })
    expect(better.label).toEqual(ownLabel)
  })

  it('T23: carries the label of the stranger where it was written after one was read', async () => {
    const { kept } = open()
    const page = labelFrom('http__get evil.example')
    const { label } = await kept(given, { label: page })
    expect(label).toEqual(page)
  })

  it('T23: no principal overwrites the text of another', async () => {
    const { kept } = open()
    const first = await kept(given)
    const second = await kept(again, { principal: 'bob' })
    expect(second).toMatchObject({ id: first.id, hash: first.hash, principal: 'ann', count: 2 })
  })

  it('T23: says no id of the draft of another principal, only that it is kept', async () => {
    const { emit, store } = open()
    const first = await emit(given)
    const foreign = await emit(again, { principal: 'bob' })
    const own = await emit(again)
    const { id, count } = (await store.list(10))[0]!
    expect([first, own]).toMatchObject([{ draft: id }, { draft: id }])
    expect([foreign.ok, 'draft' in foreign, count]).toEqual([true, false, 3])
    expect(JSON.stringify(foreign)).not.toContain(id)
  })

  it('is another draft once the first was promoted', async () => {
    const { kept, store } = open()
    const first = await kept(given)
    const by = { principal: 'operator', trace: 't', requestId: 'req_1' }
    expect(await store.promote(first.id, first.hash, by)).toBe(true)
    expect((await kept(again)).id).not.toBe(first.id)
    expect(await store.find(first.id)).toMatchObject({ state: 'promoted', promotedBy: 'operator' })
  })

  it('is one draft too where both are written at the same moment', async () => {
    const { emit, store } = open()
    const emitted = await Promise.all([given, again, given, again].map((one) => emit(one)))
    expect(emitted.map(({ ok }) => ok)).toEqual([true, true, true, true])
    expect(await store.list(10)).toMatchObject([{ count: 4 }])
  })
})

const another = (at: number) => {
  const words = Array.from({ length: 30 }, (_, word) => `word${at}x${word}`)
  return { ...given, name: `skill-${at}`, instructions: words.join(' ') }
}

describe('C6: what may be written', () => {
  it('is a few drafts a run', async () => {
    const { kept, refused } = open()
    for (let at = 0; at < draftBudget.perRun; at += 1) await kept(another(at), { run: 'run_x' })
    expect(await refused(another(99), { run: 'run_x' })).toMatch(/^This run has written 5 drafts/)
    await kept(another(99), { run: 'run_y' })
  })

  it('is some a principal and day, also where they became one or were taken away', async () => {
    const { kept, refused, pass, store } = open()
    const { id } = await kept(given)
    for (let at = 1; at < draftBudget.perDay; at += 1) await kept(given)
    await store.remove(id, { principal: 'operator', trace: 't', requestId: 'req_1' })
    expect(await refused(given)).toMatch(/^20 drafts were written today/)
    await kept(given, { principal: 'bob' })
    pass(dayMs)
    await kept(given)
  })

  it('is no more than an operator can look through, of one principal and of all', async () => {
    const { sqlite, kept, refused } = open()
    await kept(given)
    const copy = (count: number, principal: string) =>
      sqlite.exec(`
        WITH RECURSIVE many(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM many WHERE at < ${count})
        INSERT INTO skill_drafts (id, state, name, description, requires, hash, files, sketch, label, principal, count,
          first_at_ms, last_at_ms)
        SELECT '${principal}' || at, 'open', name, description, requires, hash, files, '', label, '${principal}', 1, 0, 0
        FROM skill_drafts, many WHERE n = 1`)
    copy(draftBudget.openOfPrincipal - 1, 'ann')
    expect(await refused(another(1))).toMatch(/^50 drafts wait for an operator/)
    expect(await kept(again)).toMatchObject({ count: 2 })
    await kept(another(1), { principal: 'bob' })
    copy(draftBudget.open - draftBudget.openOfPrincipal, 'carl')
    expect(await refused(another(2), { principal: 'dora' })).toMatch(/^Too many drafts wait/)
  })
})
