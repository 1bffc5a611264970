// Writes src/mcp-core.gen.js: the core that the MCP client package brings, made of the server package's.
// Both packages are built from one source that is not published, so the Worker would carry it twice
// (docs/decisions/0044-one-core-of-mcp.md).
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { createGenerated } from './generated.mjs'
import { root, toolFile } from './toolchain.mjs'

/** A package's core: the one file `src-<hash>.mjs` beside its entry. */
function coreOf(name) {
  const folder = toolFile('@modelcontextprotocol', name, 'dist')
  const files = readdirSync(folder).filter((file) => /^src-.*\.mjs$/.test(file))
  if (files.length !== 1) throw new Error(`expected one core in ${folder}, found ${files.length}`)
  return { name: files[0], path: join(folder, files[0]) }
}

/** The exports of a module: by its own name of each, the name outside. */
function exportsOf(text) {
  const [, list] = /^export \{([^}]*)\};/m.exec(text)
  return new Map(
    list
      .split(',')
      .map((item) => /(\S+)(?: as (\S+))?/.exec(item))
      .map(([, own, out]) => [own, out ?? own]),
  )
}

/**
 * The allowed lines without indentation: a declaration, or one of the two loops that the server's core runs for both.
 */
const known =
  /^(?:import |export \{|(?:async )?function\b|class |const |let |var |for \(const (?:key of SPEC_SCHEMA_KEYS|\[key, schema\] of Object\.entries\(authSchemas\))\) register\()/

/**
 * Top-level declarations by name. The packages are formatted by machine: whatever is inside one is indented or closes
 * it.
 */
function declarationsOf(text) {
  const pattern =
    /^(?:async function|function|class|const|let|var) ([\w$]+)[^\n]*(?:\n(?:[\t })\]][^\n]*)?)*/gm
  const declarations = new Map(
    [...text.matchAll(pattern)].map(([whole, name]) => [name, whole.trimEnd()]),
  )
  const begun = text.match(/^(?:export |async |function|class|const|let|var)/gm).length
  const unknown = text.split('\n').filter((line) => /^[^\s/*)}\]]/.test(line) && !known.test(line))
  // The list of exports begins like a declaration and is none.
  if (declarations.size !== begun - 1 || unknown.length > 0)
    throw new Error('the core of MCP is written in a form that this script does not know')
  return declarations
}

/** Names in braces that a module imports from another package, each with that package. */
const importsOf = (text) =>
  new Map(
    [...text.matchAll(/^import \{([^}]*)\} from "([^."][^"]*)";/gm)].flatMap(([, list, from]) =>
      list.split(',').map((name) => [name.trim(), from]),
    ),
  )

/** The cores: the one that is replaced, and the one that stays. */
export const mcpCores = () => ({ client: coreOf('client'), server: coreOf('server') })

/** The module's text. What both cores export is the server's; of the rest, what the client's own exports need. */
export function generateMcpCore() {
  const { client, server } = mcpCores()
  const text = readFileSync(client.path, 'utf8')
  const exported = exportsOf(text)
  const shared = exportsOf(readFileSync(server.path, 'utf8'))
  const declarations = declarationsOf(text)
  const imports = importsOf(text)

  const own = new Set()
  const fromServer = new Set()
  const fromPackages = new Map()
  const take = (name) => {
    if (own.has(name)) return
    const declaration = declarations.get(name)
    if (shared.has(name)) fromServer.add(name)
    else if (imports.has(name)) fromPackages.set(name, imports.get(name))
    else if (declaration) {
      own.add(name)
      // Words in texts are taken for names, too: too much is carried then, never too little.
      for (const [word] of declaration.matchAll(/[\w$]+/g)) take(word)
    }
  }
  for (const name of exported.keys()) take(name)

  const serverPath = relative(join(root, 'src'), server.path).split(sep).join('/')
  return [
    '// Written by scripts/generate-mcp-core.mjs from the MCP packages: do not edit.',
    `import { ${[...fromServer].map((name) => `${shared.get(name)} as ${name}`).join(', ')} } from '${serverPath}'`,
    ...[...fromPackages].map(([name, from]) => `import { ${name} } from '${from}'`),
    ...[...declarations].filter(([name]) => own.has(name)).map(([, declaration]) => declaration),
    `export { ${[...exported].map(([name, out]) => `${name} as ${out}`).join(', ')} }`,
    '',
  ].join('\n')
}

export const mcpCore = createGenerated({
  name: 'mcp-core',
  scripts: ['scripts/generate-mcp-core.mjs'],
  make: () => ({
    files: new Map([[join(root, 'src', 'mcp-core.gen.js'), generateMcpCore()]]),
    sources: Object.values(mcpCores()).map(({ path }) => path),
  }),
})
