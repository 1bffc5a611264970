// npm run figures [-- --json] [-- --list] [-- --in <folder>]: what the house weighs. Sizes of files and functions, the
// vocabulary of contracts/, what types are made of, which sentences name no subject, and which exports say what they
// are for.
import { readdirSync, readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { makeTable } from './figures/table.ts'
import { root, runNode, tools } from './toolchain.mjs'

const folders = ['src', 'plugins', 'scripts', 'bench']
/** Data and generated modules: their length says nothing about how a file reads. */
const isData = (path) => /\.gen\.ts$|\/price-data\.ts$|\.d\.m?ts$/.test(path)

const rule = (max) => ['error', { max, skipBlankLines: false, skipComments: false }]
const config = {
  plugins: ['eslint'],
  categories: { correctness: 'off' },
  rules: { 'eslint/max-lines-per-function': rule(60), 'eslint/max-lines': rule(300) },
}

/** Every function over 60 lines and every file over 300, blank lines and comments counted, longest first. */
export async function measureLengths(base) {
  const folder = mkdtempSync(join(tmpdir(), 'isola-figures-'))
  try {
    const file = join(folder, 'oxlint.json')
    writeFileSync(file, JSON.stringify(config))
    const args = [tools.oxlint, '-c', file, '--format', 'json', ...folders]
    const { output } = await runNode(args, { capture: true, cwd: base })
    const found = JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1))
    const all = found.diagnostics
      .filter(({ filename }) => !isData(filename))
      .map(({ code, filename, message, labels }) => ({
        isFile: code === 'eslint(max-lines)',
        place: `${filename}:${labels[0].span.line}`,
        name: /`(.+?)`/.exec(message)?.[1] ?? '(no name)',
        lines: Number(/\((\d+)\)/.exec(message)[1]),
      }))
      .sort((one, other) => other.lines - one.lines)
    return {
      functions: all.filter(({ isFile }) => !isFile),
      files: all.filter(({ isFile }) => isFile),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const declared =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/

/** The exports of a module that begin a line, and whether a docstring ends on the line above. */
export function exportsIn(source) {
  const lines = source.split('\n')
  return lines.flatMap((line, at) => {
    const name = declared.exec(line)?.[1]
    if (!name) return []
    let above = at - 1
    const isDocumented = (lines[above] ?? '').trimEnd().endsWith('*/')
    while (isDocumented && above > 0 && !lines[above].includes('/*')) above--
    return [{ name, line: at + 1, isDocumented: isDocumented && lines[above].includes('/**') }]
  })
}

/** The exports of everything under src/ but data and generated modules. */
function measureExports(base) {
  return readdirSync(join(base, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(base, join(entry.parentPath ?? entry.path, entry.name)))
    .filter((path) => !isData(path))
    .sort()
    .flatMap((path) =>
      exportsIn(readFileSync(join(base, path), 'utf8')).map((found) => ({ path, ...found })),
    )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      in: { type: 'string', default: root },
      list: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const { functions, files } = await measureLengths(values.in)
  const exported = measureExports(values.in)
  const bare = exported.filter(({ isDocumented }) => !isDocumented)
  const over = functions.filter(({ lines }) => lines > 120)
  const share = Math.round((1000 * (exported.length - bare.length)) / exported.length) / 10
  const rows = [
    ...makeTable(values.in),
    ['exports of src · with a docstring, %', exported.length, share],
    [
      'functions over 60 lines · over 120 · files over 300',
      functions.length,
      over.length,
      files.length,
    ],
  ]
  if (values.json)
    console.log(
      JSON.stringify(
        Object.fromEntries(rows.map(([name, ...figures]) => [name, figures])),
        null,
        2,
      ),
    )
  else {
    for (const [name, ...figures] of rows)
      console.log(`${name.padEnd(74)}${figures.map((one) => one.toLocaleString('en')).join(' · ')}`)
    printPlaces({ functions: values.list ? functions : over, files, bare: values.list ? bare : [] })
  }
}

function printPlaces({ functions, files, bare }) {
  if (functions.length > 0) console.log('\nFunctions')
  for (const { lines, name, place } of functions)
    console.log(`${String(lines).padStart(5)}  ${name}  ${place}`)
  if (files.length > 0) console.log('\nFiles')
  for (const { lines, place } of files)
    console.log(`${String(lines).padStart(5)}  ${place.slice(0, place.lastIndexOf(':'))}`)
  if (bare.length > 0) console.log('\nExports without a docstring')
  for (const { path, line, name } of bare) console.log(`  ${path}:${line}  ${name}`)
}
