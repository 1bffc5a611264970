// node scripts/openapi-same.mjs [revision]: whether docs/openapi.json says what it said at a revision, as data with
// sorted keys. Prints each place that differs, and fails if any does.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { root } from './toolchain.mjs'

const file = 'docs/openapi.json'
const show = (value) => JSON.stringify(value)?.slice(0, 120) ?? '–'

/** Each place where two values differ: `[place, before, after]`. */
export function differences(before, after, place = '#') {
  const isTree = (value) => typeof value === 'object' && value !== null
  if (!isTree(before) || !isTree(after) || Array.isArray(before) !== Array.isArray(after))
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [[place, before, after]]
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...keys]
    .toSorted()
    .flatMap((key) => differences(before[key], after[key], `${place}/${key}`))
}

const [, , revision = 'main'] = process.argv
const before = execFileSync('git', ['show', `${revision}:${file}`], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 2 ** 28,
})
const found = differences(JSON.parse(before), JSON.parse(readFileSync(join(root, file), 'utf8')))
for (const [place, was, is] of found) console.log(`${place}: ${show(was)} → ${show(is)}`)
console.log(
  found.length === 0 ? `${file} says what it said at ${revision}.` : `${found.length} differences.`,
)
process.exitCode = found.length === 0 ? 0 : 1
