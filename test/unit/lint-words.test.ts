import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { judgeWords } from '../../scripts/words.mjs'

const root = resolve(import.meta.dirname, '../..')

/** Files by path; each is refused at the words that stand beside it. */
const fixtures: Readonly<Record<string, readonly [source: string, ...refused: string[]]>> = {
  'src/docstring.ts': [`/** Reads it. Nobody waits. */\nexport const a = 1\n`, 'nobody'],
  'src/lines.ts': [
    `// The run ends when\n// somebody asks, or\n// whoever began it does.\nexport const a = 1\n`,
    'somebody',
    'whoever',
  ],
  'src/one.ts': [
    `// Each row has a time. One that is known keeps it.\nexport const a = 1\n`,
    'one',
  ],
  'src/error.ts': [
    `export const a = (name: string) => {\n  throw new Error(\`name: nobody has \${name}.\`)\n}\n`,
    'nobody',
  ],
  'src/refusal.ts': [`export const a = { error: 'Those of others are not shown.' }\n`, 'those'],
  'test/title.test.ts': [`it.each([1])('ends where nobody waits', () => {})\n`, 'nobody'],
  'src/good.ts': [
    `/** The caller reads it; gives somebody a key. One row for each run. */\nexport const a = 'Nobody reads this text as an error.'\n`,
  ],
  'test/good.test.ts': [
    `it('ends where no caller waits', () => {\n  throw new Error('Nobody waits.')\n})\n`,
  ],
}

interface Report {
  readonly diagnostics: readonly {
    readonly code: string
    readonly message: string
    readonly filename: string
    readonly labels: readonly { readonly span: { readonly line: number } }[]
  }[]
}

describe('the rule of subjects', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isola-words-'))
  let report: Report

  beforeAll(() => {
    const config = {
      jsPlugins: [join(root, 'scripts/lint/words.mjs')],
      categories: { correctness: 'off' },
      rules: { 'words/subjects': 'error' },
    }
    writeFileSync(join(folder, '.oxlintrc.json'), JSON.stringify(config))
    for (const [path, [source]] of Object.entries(fixtures)) {
      mkdirSync(join(folder, dirname(path)), { recursive: true })
      writeFileSync(join(folder, path), source)
    }
    const oxlint = join(root, 'node_modules/oxlint/bin/oxlint')
    const run = spawnSync(process.execPath, [oxlint, '--format=json', '.'], {
      cwd: folder,
      encoding: 'utf8',
    })
    report = JSON.parse(run.stdout.slice(run.stdout.indexOf('{'))) as Report
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const of = (path: string) => report.diagnostics.filter(({ filename }) => filename === path)

  it.each(Object.entries(fixtures))('refuses in %s what names no subject', (path, [, ...words]) => {
    expect(of(path).map(({ message }) => /^"(.+?)"/.exec(message)?.[1])).toEqual(words)
    expect(of(path).every(({ code }) => code === 'words(subjects)')).toBe(true)
  })

  it('says in which line of a comment it stands', () => {
    expect(of('src/lines.ts').map(({ labels }) => labels[0]?.span.line)).toEqual([2, 3])
  })
})

describe('the check of words', () => {
  const found = [{ kind: 'error' }, { kind: 'error' }, { kind: 'type' }] as const

  it('passes with as many as there may be, and fails with one more', () => {
    expect(judgeWords(found, { error: 2, type: 1 })).toEqual({ ok: true, output: '' })
    expect(judgeWords(found, { error: 1, type: 1 })).toMatchObject({ ok: false })
    expect(judgeWords(found, { error: 2, type: 0 })).toMatchObject({ ok: false })
  })

  it('asks for a lower number once there are fewer', () => {
    const { ok, output } = judgeWords(found, { error: 3, type: 1 })
    expect(ok).toBe(true)
    expect(output).toContain('2; lower the 3')
  })
})
