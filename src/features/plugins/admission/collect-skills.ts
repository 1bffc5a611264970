import { errorCode, errorMessage } from '#contracts/errors.ts'
import { isFields } from '#contracts/foreign-json.ts'
import { cutFrontMatter, readFrontMatter } from '../types/front-matter.ts'
import type { JsonObject } from '#contracts/json.ts'
import { skillCaps, type SentSkill } from '#runtime/catalog/types/skill-catalog.ts'
import { readYaml } from './read-yaml.ts'
import { quoted, refused } from './archive-paths.ts'

/** `skill.md` is not in the specification; the reference validator accepts it too. */
const entryFiles = ['SKILL.md', 'skill.md']
/** Test cases of a skill, which are not a part of it. */
const triggersFile = 'triggers.yaml'

/** All files of a folder or an archive by their path. */
type Files = ReadonlyMap<string, Uint8Array>

/**
 * The skills of a folder or an archive: the folder itself, or each folder in it with a SKILL.md, with all files
 * below. Parses YAML, so this never runs in the Worker itself.
 *
 * @param options.folder Name of the whole folder, if known.
 * @param options.only Names of the wanted skills; empty for all.
 * @throws `plugin_upload_invalid` without any skill, or with too many.
 */
export function collectSkills(
  files: Files,
  { folder = '', only = [] }: { readonly folder?: string; readonly only?: readonly string[] } = {},
): readonly SentSkill[] {
  const roots = rootsOf([...files.keys()])
  if (roots.length === 0) throw refused('There is no SKILL.md at the top, or in a folder of it.')
  if (roots.length > skillCaps.maxSkills)
    throw refused(`There are ${roots.length} skills; ${skillCaps.maxSkills} at most come at once.`)
  const all = roots.map((root) => {
    const own = [...files].filter(([path]) => path.startsWith(root))
    const inside = new Map(own.map(([path, bytes]) => [path.slice(root.length), bytes]))
    return toSent(inside, root.split('/').at(-2) ?? (folder || undefined))
  })
  const wanted = only.length === 0 ? all : all.filter((one) => only.includes(nameOfSent(one)))
  if (wanted.length === 0) {
    const there = all.map((one) => quoted(nameOfSent(one))).slice(0, 50)
    throw refused(`There is no skill of that name in it. It has ${there.join(', ')}.`)
  }
  const chars = wanted.reduce((sum, { bundle }) => sum + charsOf(bundle?.files ?? {}), 0)
  if (chars > skillCaps.maxCollectionChars)
    throw refused(
      `Its skills have ${chars} characters; ${skillCaps.maxCollectionChars} are the most that come ` +
        'at once. Name those that you want.',
    )
  return withoutDoubles(wanted)
}

/** Keeps the first of several skills with one name: a reviewer could not tell which of two was reviewed. */
function withoutDoubles(all: readonly SentSkill[]): readonly SentSkill[] {
  const seen = new Map<string, string>()
  return all.map((one) => {
    if (!one.bundle) return one
    const [name, { folder = '' }] = [nameOfSent(one), one]
    const first = seen.get(name)
    if (first === undefined) seen.set(name, folder)
    if (first === undefined) return one
    return {
      folder,
      problem: `name: ${quoted(name)} is that of another one, in the folder ${first}.`,
    }
  })
}

/** The name of a skill by its own front matter, or else by its folder. */
export function nameOfSent({ bundle, folder = '' }: SentSkill): string {
  const name = bundle?.fields['name']
  return typeof name === 'string' ? name : folder
}

const charsOf = (files: Readonly<Record<string, string>>): number =>
  Object.values(files).reduce((sum, text) => sum + text.length, 0)

/** Folders with a SKILL.md, each ending with a slash. A folder inside another one is a part of that skill. */
function rootsOf(paths: readonly string[]): readonly string[] {
  const folders = paths.flatMap((path) => {
    const at = path.lastIndexOf('/') + 1
    return entryFiles.includes(path.slice(at)) ? [path.slice(0, at)] : []
  })
  const unique = [...new Set(folders)].toSorted()
  return unique.filter((root) => !unique.some((other) => other !== root && root.startsWith(other)))
}

function toSent(inside: Files, folder: string | undefined): SentSkill {
  const entry = entryFiles.find((name) => inside.has(name)) ?? ''
  const texts: Record<string, string> = {}
  const [noTexts, hidden]: [string[], string[]] = [[], []]
  for (const [path, bytes] of inside) {
    if (path === triggersFile) continue
    if (isHidden(path)) {
      hidden.push(path)
      continue
    }
    const text = toText(bytes)
    if (text !== undefined) texts[path === entry ? 'SKILL.md' : path] = text
    else noTexts.push(path)
  }
  if (charsOf(texts) > skillCaps.maxChars)
    return {
      folder,
      problem: `Its files have more than the ${skillCaps.maxChars} characters that a skill may have.`,
    }
  const notes = [...leftOut('no text', noTexts), ...leftOut('hidden', hidden)]
  try {
    const fields = fieldsOf(texts['SKILL.md'])
    return { folder, bundle: { fields, files: texts }, notes }
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return { folder, problem: `SKILL.md: ${errorMessage(error)}` }
  }
}

/** Dotfiles are mostly keys and settings of the folder's owner. Folders above the skill do not count. */
const isHidden = (path: string): boolean => path.split('/').some((part) => part.startsWith('.'))

function leftOut(what: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return []
  const named = paths.slice(0, 20).map(quoted).join(', ')
  return [`left out, since they are ${what}: ${named}${paths.length > 20 ? ', …' : ''}`]
}

function toText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    // A file with a zero byte is not text, whatever it decodes to.
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

function fieldsOf(text: string | undefined): JsonObject {
  const cut = cutFrontMatter((text ?? '').replace(/^\ufeff/, ''))
  if (typeof cut === 'string') throw refused(cut)
  const { value } = readFrontMatter(cut.yaml, (yaml) => readYaml(yaml, 'SKILL.md'))
  if (!isFields(value)) throw refused('the front matter must be a mapping: `name: …`')
  // JSON turns dates and the like into texts.
  return JSON.parse(JSON.stringify(value)) as JsonObject
}
