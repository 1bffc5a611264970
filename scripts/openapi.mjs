// npm run openapi: writes docs/openapi.json, the document that GET /api/openapi.json answers, from the declared
// routes, and the table of roles in docs/api.md from that.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { withRoleTable } from './role-table.mjs'
import { root } from './toolchain.mjs'

/** The text of docs/openapi.json. */
export async function openApiText() {
  const load = (...path) => import(pathToFileURL(join(root, 'src', ...path)).href)
  const { readRoutes, toOpenApiDocument } = await load('surfaces', 'http', 'openapi', 'document.ts')
  const { routeTable } = await load('routes.gen.ts')
  const document = toOpenApiDocument(await readRoutes(routeTable))
  return `${JSON.stringify(document, null, 1)}\n`
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const text = await openApiText()
  writeFileSync(join(root, 'docs', 'openapi.json'), text)
  const page = join(root, 'docs', 'api.md')
  writeFileSync(page, withRoleTable(readFileSync(page, 'utf8'), JSON.parse(text)))
}
