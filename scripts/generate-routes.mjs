// src/routes.gen.ts: every path of the API, who may use it, and the file that declares it. Made of the files named
// `routes.ts` or `…-routes.ts` under src/, where each route begins `route('GET /api/…', { roles: <a list of roles.ts>`.
// A Worker has no folder to scan, and its start reads no schema of a route: so the table is text of these files.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { root } from './toolchain.mjs'

const folder = join(root, 'src')
const target = join(folder, 'routes.gen.ts')
const declaration = /\broute\(\s*'(GET|POST|DELETE) (\/[^']*)',\s*\{\s*roles: (\w+),/g

/** A path before another that takes what it names for a parameter: `/compact` before `/:id`. */
const inOrder = (a, b) => {
  const [left, right] = [a, b].map((path) => path.replaceAll('/:', '/~'))
  return left < right ? -1 : left > right ? 1 : 0
}

/** The files that declare routes, with theirs: `{ file, routes: [{ method, path, roles }] }`. */
function declarations() {
  const files = readdirSync(folder, { recursive: true })
    .filter((file) => /(^|[-/\\])routes\.ts$/.test(file))
    .map((file) => file.split(sep).join('/'))
    .sort((one, other) => (one < other ? -1 : 1))
  return files.flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    const routes = [...text.matchAll(declaration)].map(([, method, path, roles]) => {
      return { method, path, roles }
    })
    const declared = text.match(/\broute\(\s*'/g)?.length ?? 0
    if (declared !== routes.length)
      throw new Error(`src/${file}: a route begins \`route('GET /…', { roles: …,\`.`)
    return routes.length === 0 ? [] : [{ file, routes }]
  })
}

const camel = (file) =>
  file.replace(/\.ts$/, '').replace(/[/-](\w)/g, (_, one) => one.toUpperCase())

/** The text of src/routes.gen.ts. */
export function routesText() {
  const files = declarations()
  const table = new Map()
  for (const { file, routes } of files)
    for (const { method, path, roles } of routes) {
      const row = table.get(path) ?? { file, roles: new Map() }
      if (row.file !== file || row.roles.has(method))
        throw new Error(`${method} ${path} is declared in src/${row.file} and in src/${file}.`)
      table.set(path, { file, roles: row.roles.set(method, roles) })
    }
  const kit = findKit()
  return [
    '// Written by scripts/generate-routes.mjs from the files named routes.ts: do not edit.',
    `import * as roles from './${kit}/roles.ts'`,
    `import type { DepsOf, RouteTable, ShapesOf } from './${kit}/route.ts'`,
    '',
    ...files.map(({ file }) => `const ${camel(file)} = () => import('./${file}')`),
    '',
    'type Files =',
    ...files.map(({ file }) => `  | typeof import('./${file}')`),
    '',
    '/** What all routes need. */',
    'export type RouteDeps = DepsOf<Files>',
    '',
    '/** What each route takes and answers, by its name. */',
    'export type ApiRoutes = ShapesOf<Files>',
    '',
    '/** A path stands before another that would take what it names for a parameter. */',
    'export const routeTable = {',
    ...[...table]
      .toSorted(([a], [b]) => inOrder(a, b))
      .map(([path, { file, roles }]) => {
        const allowed = [...roles].map(([method, name]) => `${method}: roles.${name}`).join(', ')
        return `  '${path}': { load: ${camel(file)}, roles: { ${allowed} } },`
      }),
    '} as const satisfies RouteTable<RouteDeps>',
    '',
  ].join('\n')
}

/** The folder of the kit: where route.ts and roles.ts are. */
function findKit() {
  const file = readdirSync(folder, { recursive: true }).find((one) =>
    one.split(sep).join('/').endsWith('/routes/route.ts'),
  )
  return relative(folder, dirname(join(folder, file)))
    .split(sep)
    .join('/')
}

export const isCurrent = () => existsSync(target) && readFileSync(target, 'utf8') === routesText()

/** Brings it up to date. An unchanged file keeps its time, so a running dev server does not rebuild. */
export function update() {
  const text = routesText()
  if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text)
}
