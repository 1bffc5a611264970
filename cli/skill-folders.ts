// Skills in folders of this machine, as `isola skill validate` reads them.
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { ReadSkill } from '../src/runtime/catalog/types/skill.ts'
import { readYaml } from '../src/features/plugins/admission/read-yaml.ts'
import { maxSkillChars, readSkill } from '../src/features/skills/read-skill.ts'

/** The first is the specification's; the second is read as well, as the reference validator does. */
const names = ['SKILL.md', 'skill.md']
const maxDepth = 8
const leftOut = new Set(['node_modules', '.git'])

/** A file, and what came of reading it. */
export interface SkillFile extends ReadSkill {
  readonly path: string
}

/** Reads every skill in and under these folders, in the order of paths; a folder without one is an error of its own. */
export function readSkillFolders(folders: readonly string[]): readonly SkillFile[] {
  return folders.flatMap((given) => {
    const at = statSync(given, { throwIfNoEntry: false })
    if (!at) return [missing(given, 'there is no such folder')]
    if (!at.isDirectory()) {
      if (names.includes(basename(given))) return [readSkillFile(given)]
      return [missing(given, 'is neither a folder nor a SKILL.md')]
    }
    const found = skillFiles(given, 0)
    return found.length > 0
      ? found.map(readSkillFile)
      : [missing(given, 'there is no SKILL.md in this folder or under it')]
  })
}

const missing = (path: string, message: string): SkillFile => ({
  path,
  diagnostics: [{ severity: 'error', message }],
})

/** Links are not followed. A skill's own folders are its files, not more skills. */
function skillFiles(folder: string, depth: number): readonly string[] {
  const own = names.map((name) => join(folder, name)).find((path) => existsSync(path))
  if (own !== undefined) return [own]
  if (depth === maxDepth) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !leftOut.has(entry.name))
    .map(({ name }) => name)
    .toSorted()
    .flatMap((name) => skillFiles(join(folder, name), depth + 1))
}

/** Reads one file; its folder is the one it really lies in. */
export function readSkillFile(path: string): SkillFile {
  if (!lstatSync(path).isFile()) return missing(path, 'is no file of its own (a link or a folder)')
  const bytes = readFileSync(path)
  // Before it is decoded: a character has four bytes at most.
  if (bytes.byteLength > 4 * maxSkillChars)
    return missing(path, `is larger than ${4 * maxSkillChars} bytes`)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return missing(path, 'is not text in UTF-8')
  }
  const parseYaml = (yaml: string) => readYaml(yaml, basename(path))
  return { path, ...readSkill(text, { folder: basename(dirname(resolve(path))), parseYaml }) }
}
