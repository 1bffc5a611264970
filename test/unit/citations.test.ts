import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { switches } from '../switches/all.mjs'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => existsSync(join(root, path)))

/** Every text that is ours: recorded replies, lists of names and generated files cite nothing. */
const files = tracked
  .filter((path) => /\.(ts|mjs|md|toml|sql)$/.test(path) && !/fixtures|\.d\.ts$/.test(path))
  .filter((path) => path !== 'test/unit/citations.test.ts')

const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found = '']) => found)

const targets = {
  sections: new Set(all(read('docs/design.md'), /^## (\d+)\. /gm)),
  invariants: new Set(all(read('docs/design.md'), /^(\d+)\. \*\*/gm)),
  parts: new Set(all(read('docs/design.md'), /^\*\*([A-Z]\w+)\.\*\*/gm)),
  'docs/security.md': new Set(all(read('docs/security.md'), /^(?:\| |- )([TG]\d+) /gm)),
  'docs/reliability.md': new Set(
    all(read('docs/reliability.md'), /^\| (F\d+(?:, F\d+)*) /gm).flatMap((ids) => ids.split(', ')),
  ),
  requirements: new Set(all(read('docs/requirements.md'), /^- ([A-Z]\d+) /gm)),
}
const letters = new Set([...targets.requirements].map(([letter]) => letter))

/** A comment as one line, so that a citation may go over its end. */
const unwrapped = (text: string) => text.replace(/\n[ \t]*(?:\*(?!\/)|\/\/|#)?[ \t]*/g, ' ')

/** What a text cites that is not there. */
function dangling(text: string): string[] {
  const found: string[] = []
  const flat = unwrapped(text)
  for (const [cited, page] of flat.matchAll(/(?<![\w./-])((?:docs\/)[\w/-]+\.md)/g))
    if (!existsSync(join(root, page!))) found.push(cited)
  // Pages in capitals are those of the root; SKILL.md is a format.
  for (const [page] of flat.matchAll(/(?<![\w./-])[A-Z]{4,}\.md\b/g))
    if (page !== 'SKILL.md' && !existsSync(join(root, page))) found.push(page)
  for (const [cited] of flat.matchAll(/(?<!\/)\bSECURITY(?:\.md)?,? [TFG]\d+/g)) found.push(cited)
  const design =
    /docs\/design\.md(?:,? section (\d+)(?:, ([A-Z]\w+))?)?(?:,? invariants? (\d+)(?: and (\d+))?)?/g
  for (const [cited, section, part, ...invariants] of flat.matchAll(design)) {
    const isThere =
      (section === undefined || targets.sections.has(section)) &&
      (part === undefined || targets.parts.has(part)) &&
      invariants.every((one) => one === undefined || targets.invariants.has(one))
    if (!isThere) found.push(cited)
  }
  const ids = /(docs\/(?:security|reliability)\.md) ((?:[TFG]\d+(?:, | and |–)?)+)/g
  for (const [, page, list] of flat.matchAll(ids))
    for (const [id] of list!.matchAll(/[TFG]\d+/g))
      if (!targets[page as 'docs/security.md'].has(id)) found.push(`${page} ${id}`)
  return found
}

/**
 * The files and folders that a page names in backticks and that the repository does not have. The
 * README of a room may name a file from any folder of the room; each page may name it from `src/` or
 * from the root.
 */
function missingFiles(text: string, room?: string): string[] {
  const names = all(text, /`([\w.*/-]+\.(?:ts|mjs|sql)|[\w./-]+\/)`/g)
  return names.filter((name) => {
    // Git has no generated file and no packed one. A page of docs also names files that its reader writes; their names
    // have no folder or a pattern.
    const isOfReader = room === undefined && !/^\w[\w/.-]*\/[\w.-]+$/.test(name)
    if (/\.gen|^packed\//.test(name) || isOfReader) return false
    const pattern = name.replaceAll('.', '\\.').replaceAll('*', '[^/]*').replace(/\/$/, '/.*')
    const within = room === undefined ? '(?:src/)?' : `(?:(?:src/)?|${room}/(?:.*/)?)`
    const path = new RegExp(`^${within}${pattern}$`)
    return !tracked.some((file) => path.test(file))
  })
}

/** The ids that a test's name or a switch begins with, and that stand on no page. */
function unknownIds(title: string): string[] {
  const colon = title.indexOf(':')
  const ids = title.slice(0, Math.max(0, colon)).match(/\b[A-Z]\d+\b/g) ?? []
  return ids.filter((id) => {
    if (/^[TG]/.test(id)) return !targets['docs/security.md'].has(id)
    if (id.startsWith('F')) return !targets['docs/reliability.md'].has(id)
    return letters.has(id[0]!) && !targets.requirements.has(id)
  })
}

describe('a citation', () => {
  it.each([
    ['docs/design.md section 4', []],
    ['(docs/design.md section 6, invariant 3)', []],
    ['/**\n * See docs/reliability.md F1,\n * F30.\n */', []],
    ['docs/design.md section 40', ['docs/design.md section 40']],
    ['docs/design.md section 8, Elsewhere', ['docs/design.md section 8, Elsewhere']],
    ['docs/design.md invariants 3 and 44', ['docs/design.md invariants 3 and 44']],
    ['docs/security.md T4, T99', ['docs/security.md T99']],
    ['docs/reliability.md\n // F99', ['docs/reliability.md F99']],
    ['docs/nowhere.md', ['docs/nowhere.md']],
    ['DESIGN.md section 4', ['DESIGN.md']],
    ['SECURITY.md T2', ['SECURITY.md T2']],
  ])('of %j is told where it leads nowhere', (text, expected) => {
    expect(dangling(text)).toEqual(expected)
  })

  it('of a comment leads to a page, a section and an id that are there', () => {
    const found = files.flatMap((path) => dangling(read(path)).map((one) => `${path}: ${one}`))
    expect(found).toEqual([])
  })

  it('of a threat or a fault in the code names its page', () => {
    const found = files
      .filter((path) => /^(src|plugins|scripts)\//.test(path))
      .flatMap((path) => all(read(path), /(\([TFG]\d+[),])/g).map((one) => `${path}: ${one}`))
    expect(found).toEqual([])
  })

  it('of a test’s name or a switch is an id of a page', () => {
    const titles = files
      .filter((path) => path.endsWith('.test.ts'))
      .flatMap((path) =>
        all(read(path), /\b(?:it|test|describe)(?:\.\w+)*\(\s*['"`]([^'"`\n]+)/g).map(
          (title) => [path, title] as const,
        ),
      )
    expect(titles.length).toBeGreaterThan(1_000)
    const named = [...titles, ...switches.map(({ name, what }) => [name, what] as const)]
    expect(
      named.flatMap(([where, title]) => unknownIds(title).map((id) => `${where}: ${id}`)),
    ).toEqual([])
  })

  it('in the docs links to a file and a heading that are there', () => {
    const slugs = (path: string) =>
      all(readFileSync(path, 'utf8'), /^#+ (.+)$/gm).map((heading) =>
        heading
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\- _]/gu, '')
          .replaceAll(' ', '-'),
      )
    const broken = files
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) =>
        all(read(path).replace(/```[^]*?```/g, ''), /\]\(([^)\s]+)\)/g)
          .filter((link) => !/^[a-z]+:/.test(link))
          .filter((link) => {
            const [file = '', anchor] = link.split('#')
            const target = file === '' ? join(root, path) : join(root, dirname(path), file)
            if (!existsSync(target)) return true
            return anchor !== undefined && !slugs(target).includes(anchor)
          })
          .map((link) => `${path}: ${link}`),
      )
    expect(broken).toEqual([])
  })

  it.each([
    ['`address.ts`, `gone.ts`', 'src/platform/outbound', ['address.ts', 'gone.ts']],
    ['`send.ts`, `platform/outbound/send.ts`, `compose.ts`', 'src/platform/outbound', []],
    ['`storage/todo.ts`, `todo.ts`, `log-*.ts`, `upkeep/`', 'src/runtime/session', []],
    ['`todo/storage.ts`, `nothing-*.ts`, `gone/`', 'src/runtime/session', 3],
    ['`scripts/words.mjs`, `src/bundled.gen.ts`', 'src/runtime/session', []],
    ['`runtime/kernel/gates.ts`, `test/unit/agent.test.ts`', undefined, []],
    ['`main.ts`, `runtime/kernel/gone.ts`', undefined, ['runtime/kernel/gone.ts']],
  ])('of a file in %j (of %s) is told where the file is not there', (text, room, expected) => {
    const found = missingFiles(text, room)
    expect(typeof expected === 'number' ? found.length : found).toEqual(expected)
  })

  it('of a file or a folder in a README of a room, or in a page of docs, is there', () => {
    const pages = files.filter((path) => /^docs\/[^/]+\.md$/.test(path))
    const rooms = files.filter((path) => /^src\/.+\/README\.md$/.test(path))
    const missing = [
      ...pages.flatMap((path) => missingFiles(read(path)).map((name) => `${path}: ${name}`)),
      ...rooms.flatMap((path) =>
        missingFiles(read(path), dirname(path)).map((name) => `${path}: ${name}`),
      ),
    ]
    expect(rooms.length).toBeGreaterThan(20)
    expect(missing).toEqual([])
  })
})
