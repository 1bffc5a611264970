// npm run requirements: each id of docs/requirements.md with the tests or decision notes that name it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './toolchain.mjs'

/** Statements rather than behaviour: a decision note answers them. */
const statements = new Set(['I31', 'P2', 'P33', 'P34', 'P35', 'Y26', 'Y29', 'Y31'])

/** The ids a text names, ranges such as `N1–N3` or `P33-35` written out. */
export function idsIn(text) {
  const ids = []
  for (const [, letter, first, last] of text.matchAll(/\b([A-Z])(\d+)(?:\s*[–-]\s*\1?(\d+))?\b/g)) {
    for (let number = Number(first); number <= Number(last ?? first); number++)
      ids.push(letter + number)
  }
  return ids
}

function skipParens(source, start) {
  let depth = 0
  for (let index = start; index < source.length; index++) {
    if (source[index] === '(') depth++
    if (source[index] === ')' && --depth === 0) return index + 1
  }
  return source.length
}

/**
 * Titles of it, test and describe (also `.each(…)(title)`, and a battery of `describeTool`) with their lines; skipped
 * ones do not count.
 */
export function titlesIn(source) {
  const titles = []
  for (const match of source.matchAll(/\b(?:it|test|describe\w*)((?:\.\w+)*)\s*(?=\()/g)) {
    if (/\.(skip|todo)\b/.test(match[1])) continue
    let open = match.index + match[0].length
    if (/\.(each|for|skipIf|runIf)\b/.test(match[1])) open = skipParens(source, open)
    const title = /^\s*\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/.exec(source.slice(open, open + 2000))
    if (title)
      titles.push({ title: title[2], line: source.slice(0, match.index).split('\n').length })
  }
  return titles
}

function filesUnder(folder, pattern) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
}

/** For each id in order: where it is named, tests first. */
export function collect(base) {
  const listed = readFileSync(join(base, 'docs', 'requirements.md'), 'utf8')
  const places = new Map(
    [...listed.matchAll(/^- ([A-Z]\d+) /gm)].map(([, id]) => [id, { tests: [], notes: [] }]),
  )
  for (const path of filesUnder(join(base, 'test'), /\.m?ts$/)) {
    for (const { title, line } of titlesIn(readFileSync(path, 'utf8'))) {
      const colon = title.indexOf(':')
      if (colon < 0) continue
      for (const id of new Set(idsIn(title.slice(0, colon))))
        places.get(id)?.tests.push(`${relative(base, path)}:${line}`)
    }
  }
  for (const path of filesUnder(join(base, 'docs', 'decisions'), /\.md$/)) {
    for (const id of new Set(idsIn(readFileSync(path, 'utf8'))))
      places.get(id)?.notes.push(relative(base, path))
  }
  return places
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const places = collect(root)
  const missing = []
  for (const [id, { tests, notes }] of places) {
    if (tests.length === 0 && !(statements.has(id) && notes.length > 0)) missing.push(id)
    const all = [...tests, ...notes]
    console.log(`${id.padEnd(4)} ${all.length > 0 ? all.join(', ') : '—'}`)
  }
  console.log(
    `\n${places.size - missing.length} of ${places.size} met by a test, or by a decision note where the id ` +
      'is a statement.',
  )
  if (missing.length > 0) console.log(`None: ${missing.join(' ')}`)
}
