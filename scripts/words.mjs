// npm run words [-- --list]: sentences whose subject names nothing, and names of types that stand for two things.
// Part of
// npm run check, where each count may fall and never rise. docs/glossary.md has the nouns to say.
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { codeFiles, readSource } from './figures/sources.ts'
import { findSubjects } from './figures/subjects.ts'
import { declaredTwice } from './figures/types.ts'
import { root } from './toolchain.mjs'

/**
 * As many as there may be of each kind: a change that removes some lowers the number. The aim is 40 refused subjects in
 * all, and no type that is declared twice.
 */
const most = { comment: 0, error: 0, title: 0, doc: 6, type: 1 }

const names = {
  comment: 'comments',
  error: 'errors',
  title: 'titles of tests',
  doc: 'pages of docs/',
  type: 'exported type names that two files of src/ declare',
}

/** Each finding below `base`: its kind, and a line that says where it is. */
export function findWords(base) {
  const types = declaredTwice(codeFiles(base, ['src']).map((path) => readSource(base, path)))
  return [
    ...findSubjects(base).map(({ kind, path, line, word }) => ({
      kind,
      text: `${path}:${line}  "${word}" names no subject`,
    })),
    ...types.map(({ name, paths }) => ({ kind: 'type', text: `${name}  ${paths.join(' ')}` })),
  ]
}

/** @returns Whether no kind has more than it may, and what there is to say of each. */
export function judgeWords(found, limits = most) {
  const counts = Object.entries(limits).map(([kind, limit]) => ({
    name: names[kind],
    limit,
    count: found.filter((one) => one.kind === kind).length,
  }))
  const output = counts
    .filter(({ count, limit }) => count !== limit)
    .map(({ name, count, limit }) =>
      count > limit
        ? `${name}: ${count}, at most ${limit} are allowed (npm run words -- --list)`
        : `${name}: ${count}; lower the ${limit} in scripts/words.mjs`,
    )
  return { ok: counts.every(({ count, limit }) => count <= limit), output: output.join('\n') }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { list: { type: 'boolean', default: false } } })
  const found = findWords(root)
  if (values.list) for (const { text } of found) console.log(text)
  for (const [kind, limit] of Object.entries(most)) {
    const count = found.filter((one) => one.kind === kind).length
    console.log(`${names[kind]}: ${count} of ${limit}`)
  }
  if (!judgeWords(found).ok) process.exitCode = 1
}
