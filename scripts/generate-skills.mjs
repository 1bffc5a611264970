// Writes assets/skills.json, the skills of skills/ with all of their files, and src/skills.gen.ts, which pins it: the
// Worker reads the text with this hash and no other (docs/decisions/0082-a-skill-is-found-then-loaded.md).
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { parse } from 'yaml'
import { readSkill } from '../src/features/skills/read-skill.ts'
import { root } from './toolchain.mjs'

const name = 'skills.json'
const asset = join(root, 'assets', name)
const pin = join(root, 'src', 'skills.gen.ts')

/** A fault of a skill, with file and field. Its author reads the message: no stack. */
export class SkillError extends Error {}

/** The tests of a skill, which are not part of it. */
const leftOut = 'triggers.yaml'
const byName = (a, b) => (a < b ? -1 : a > b ? 1 : 0)

/** Text of every file of a folder by its path in it; refuses links, and files that are not UTF-8. */
function readFiles(folder, shown) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.flatMap((entry) => {
    if (entry.isDirectory()) return []
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')
    if (path === leftOut) return []
    if (!entry.isFile()) throw new SkillError(`${shown}/${path}: must be a file, not a link`)
    try {
      const bytes = readFileSync(join(folder, path))
      return [[path, new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)]]
    } catch {
      throw new SkillError(`${shown}/${path}: must be text in UTF-8`)
    }
  })
  return files.sort(([a], [b]) => byName(a, b))
}

/** Length-prefixed parts, so that no two sets of files hash alike. */
function hashOf(files) {
  const hash = createHash('sha256')
  for (const [path, text] of files)
    hash.update(`${path.length}:${path}${Buffer.byteLength(text)}:`).update(text)
  return hash.digest('hex')
}

function loadSkill(base, folder) {
  const shown = `skills/${folder}`
  const files = readFiles(join(base, 'skills', folder), shown)
  const text = new Map(files).get('SKILL.md')
  if (text === undefined) throw new SkillError(`${shown}: there is no SKILL.md`)
  const { skill, diagnostics } = readSkill(text, { folder, parseYaml: parse })
  const [wrong] = diagnostics
  if (wrong) {
    const { field, message } = wrong
    throw new SkillError(`${shown}/SKILL.md: ${field ? `${field} ` : ''}${message}`)
  }
  const { body: _, metadata: __, ...rest } = skill
  return { ...rest, hash: hashOf(files), files: Object.fromEntries(files) }
}

/**
 * The asset's text for the skills under `base`; the same folders give the same bytes. Our own skills must be valid
 * without any remark: a warning or a note stops the build here. Throws `SkillError`.
 */
export function bundleSkills(base) {
  const folder = join(base, 'skills')
  if (!existsSync(folder)) return JSON.stringify({ skills: [] })
  const skills = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort(byName)
    .map((one) => loadSkill(base, one))
  return JSON.stringify({ skills })
}

/** Both files; read anew each time, since a folder may have come. */
function files() {
  const text = bundleSkills(root)
  const sha256 = createHash('sha256').update(text).digest('hex')
  const pinned = [
    '// Written by scripts/generate-skills.mjs: do not edit.',
    `export const bundledSkills = { path: '/${name}', sha256: '${sha256}' }`,
    '',
  ].join('\n')
  return [
    [asset, text],
    [pin, pinned],
  ]
}
const isSame = ([path, text]) => existsSync(path) && readFileSync(path, 'utf8') === text

export const skills = {
  isCurrent: () => files().every(isSame),
  update() {
    for (const [path, text] of files().filter((one) => !isSame(one))) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  },
}
