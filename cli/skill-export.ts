// isola skill export: the files of a skill of the server, as a folder here.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'

/**
 * Writes files below a folder that is not there yet. Throws, before anything is written, for a path that leads out of it.
 *
 * @returns The paths.
 */
export function writeFolder(folder: string, files: Readonly<Record<string, string>>) {
  if (existsSync(folder)) throw new Error(`${folder} is there already: name another folder`)
  const paths = Object.keys(files).toSorted()
  const wrong = paths.find((path) => !resolve(folder, path).startsWith(resolve(folder) + sep))
  if (wrong !== undefined) throw new Error(`the server names a file outside of the skill: ${wrong}`)
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), files[path] ?? '', { flag: 'wx' })
  }
  return paths
}
