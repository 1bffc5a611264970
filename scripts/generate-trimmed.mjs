// Writes src/trimmed.gen/: files of packages without the exports that scripts/trimmed.mjs names. A call of a removed
// export throws and says so. `[alias]` in wrangler.toml puts the files in the place of the packages' own.
import { readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { createGenerated } from './generated.mjs'
import { mcpCores } from './generate-mcp-core.mjs'
import { root, toolFile } from './toolchain.mjs'
import { trimmed } from './trimmed.mjs'

const folder = join(root, 'src', 'trimmed.gen')

export const sourceOf = (entry) => toolFile(entry.package, entry.file)
export const targetOf = (entry) => join(folder, entry.package, entry.file)

/** The first line from `from` on that fits; throws if there is none. */
function lineAfter(lines, from, pattern) {
  const at = lines.findIndex((line, index) => index >= from && pattern.test(line))
  if (at < 0) throw new Error(`no line like ${pattern} after ${lines[from]}`)
  return at
}

/** The only line of a range that fits. */
function onlyLine(lines, from, to, pattern) {
  const at = lineAfter(lines, from, pattern)
  const other = lines.findIndex((line, index) => index > at && index <= to && pattern.test(line))
  if (at > to || other >= 0)
    throw new Error(`expected one line like ${pattern} from ${from} to ${to}`)
  return at
}

/** A function or a table of the module: its lines, and what stands in their place. */
function cutDeclaration(lines, name) {
  const pattern = new RegExp(`^(?:(?:async )?function|const) ${name}\\b`)
  const from = onlyLine(lines, 0, lines.length, pattern)
  if (lines[from].startsWith('const '))
    return { from, to: lineAfter(lines, from, /^[\])}]+;$/), text: `const ${name} = undefined;` }
  const [head] = lines[from].split('(')
  return { from, to: lineAfter(lines, from, /^\}$/), text: `${head}() { leftOut_("${name}") }` }
}

/** A function of the module that does less: its head stays. */
function cutBody(lines, name, body) {
  const { from, to } = cutDeclaration(lines, name)
  return { from, to, text: `${lines[from]}\n  ${body}\n}` }
}

/**
 * The same of a method. The packages are formatted by machine: a method begins and ends one step in, and its class at
 * none.
 */
function cutMethod(lines, owner, name) {
  const begin = onlyLine(
    lines,
    0,
    lines.length,
    new RegExp(`^(?:export )?(?:class ${owner}\\b|(?:var|let|const) ${owner} = )`),
  )
  const end = lineAfter(lines, begin, /^\}[);]*$/)
  const method = new RegExp(`^(\\t| {2}| {4})(?:async |get )*${name}\\(.*\\{$`)
  const from = onlyLine(lines, begin, end, method)
  const [, step] = method.exec(lines[from])
  const to = lineAfter(lines, from, new RegExp(`^${step}\\},?$`))
  const [head] = lines[from].split('(')
  const comma = lines[to].endsWith(',') ? ',' : ''
  return { from, to, text: `${head}() { leftOut_("${owner}.${name}") }${comma}` }
}

/**
 * Each block that begins like this: its lines, and what stands in their place. Where it ends stays, with its `else`.
 */
function cutBlocks(lines, head) {
  const found = [...lines.keys()].filter((at) => lines[at].trim() === head)
  if (found.length === 0) throw new Error(`no block begins ${head}`)
  return found.map((from) => {
    const [step] = /^\t*/.exec(lines[from])
    const to = lineAfter(lines, from + 1, new RegExp(`^${step}\\}`)) - 1
    return { from, to, text: `${lines[from]} leftOut_(${JSON.stringify(head)})` }
  })
}

/** Lines of a table that are not kept; one entry is one line. */
function cutEntries(lines, table, kept) {
  const begin = onlyLine(lines, 0, lines.length, new RegExp(`^(?:const|var) ${table} = `))
  const end = lineAfter(lines, begin, /^[\])}]+;$/)
  const keptAt = kept.map((name) => onlyLine(lines, begin, end, new RegExp(`^\\t["']?${name}\\b`)))
  return lines.keys().filter((at) => at > begin && at < end && !keptAt.includes(at))
}

/** Where a module finds a neighbour of its package: what stands in its place, if something does. */
function placeOf(entry, name) {
  const path = join(dirname(sourceOf(entry)), name)
  const other = trimmed.find((one) => sourceOf(one) === path)
  const core = path === mcpCores().client.path ? join(root, 'src', 'mcp-core.gen.js') : path
  const place = relative(dirname(targetOf(entry)), other ? targetOf(other) : core)
  return place.startsWith('.') ? place.split(sep).join('/') : `./${place}`
}

/** The module's text: the package's to the letter, but for what is left out and where its neighbours are. */
export function trim(entry) {
  const lines = readFileSync(sourceOf(entry), 'utf8').split('\n')
  const cuts = [
    ...Object.entries(entry.without).flatMap(([owner, names]) =>
      names.map((name) =>
        owner === '' ? cutDeclaration(lines, name) : cutMethod(lines, owner, name),
      ),
    ),
    ...Object.entries(entry.bodies ?? {}).map(([name, body]) => cutBody(lines, name, body)),
    ...(entry.blocks ?? []).flatMap((head) => cutBlocks(lines, head)),
  ]
  const unkept = new Set(
    Object.entries(entry.keeps ?? {}).flatMap(([table, names]) => [
      ...cutEntries(lines, table, names),
    ]),
  )
  const kept = lines.flatMap((line, index) => {
    if (unkept.has(index)) return []
    const cut = cuts.find(({ from, to }) => index >= from && index <= to)
    if (cut) return cut.from === index ? [cut.text] : []
    return [
      line.replace(
        /^((?:import|export) .* from )"(\.[^"]+)";$/,
        (_, head, name) => `${head}"${placeOf(entry, name)}";`,
      ),
    ]
  })
  return [
    `// Written by scripts/generate-trimmed.mjs from ${entry.package}: do not edit.`,
    ...kept,
    'function leftOut_(name) { throw new Error(`${name} is not in the upload: see scripts/trimmed.mjs`) }',
    '',
  ].join('\n')
}

export const trimmedFiles = createGenerated({
  name: 'trimmed',
  scripts: ['scripts/generate-trimmed.mjs', 'scripts/trimmed.mjs'],
  make: () => ({
    files: new Map(trimmed.map((entry) => [targetOf(entry), trim(entry)])),
    // Where the core of MCP is, too: what imports it is led past it.
    sources: [...trimmed.map(sourceOf), mcpCores().client.path, 'scripts/generate-mcp-core.mjs'],
  }),
})
