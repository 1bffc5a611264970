// Reads a configuration file with wrangler. Loading wrangler takes each harness two seconds, so the result is
// cached, under the hash of all that it depends on.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, toolFile } from './toolchain.mjs'

const cache = join(root, 'node_modules', '.cache', 'isola', 'config')

/** @returns what `unstable_readConfig` of wrangler gives, as JSON has it. */
export async function readConfig(path) {
  const file = resolve(path)
  // Paths in it are absolute, and those of the file's folder.
  const parts = [file, readFileSync(file), readFileSync(toolFile('wrangler', 'package.json'))]
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}:`).update(part)
  const kept = join(cache, `${hash.digest('hex')}.json`)
  try {
    return JSON.parse(readFileSync(kept, 'utf8'))
  } catch {
    const wrangler = pathToFileURL(toolFile('wrangler', 'wrangler-dist', 'cli.js')).href
    const { unstable_readConfig: read } = await import(wrangler)
    const text = JSON.stringify(read({ config: file }))
    mkdirSync(cache, { recursive: true })
    // Another harness may be reading it.
    writeFileSync(`${kept}.${process.pid}`, text)
    renameSync(`${kept}.${process.pid}`, kept)
    return JSON.parse(text)
  }
}
