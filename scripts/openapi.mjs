// npm run openapi: writes docs/openapi.json, the document that GET /api/openapi.json answers, from the contracts.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './toolchain.mjs'

/** The text of docs/openapi.json. */
export async function openApiText() {
  const file = pathToFileURL(join(root, 'src', 'http', 'openapi', 'document.ts')).href
  const { toOpenApiDocument } = await import(file)
  return `${JSON.stringify(toOpenApiDocument(), null, 1)}\n`
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  writeFileSync(join(root, 'docs', 'openapi.json'), await openApiText())
