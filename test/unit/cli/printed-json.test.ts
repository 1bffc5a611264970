import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const folder = join(import.meta.dirname, '../../../cli')

/** A write to a terminal with JSON of its own making in it. */
const rawJson = /(?:std(?:out|err)\.write|print)\([^;]*?JSON\.stringify/

it.each(globSync('**/*.ts', { cwd: folder }))(
  'T3: %s writes JSON through jsonText alone',
  (file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    for (const statement of text.split('\n\n')) expect(statement).not.toMatch(rawJson)
  },
)

it.each([
  'stdout.write(`${JSON.stringify(record)}\\n`)',
  'context.stderr.write(JSON.stringify(record))',
  'print(view, JSON.stringify(view))',
  'for (const one of all)\n    stdout.write(`${isJson ? JSON.stringify(one) : line(one)}\\n`)',
])('refuses %j', (source) => {
  expect(source).toMatch(rawJson)
})
