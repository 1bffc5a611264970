import { headOf } from '#contracts/cut.ts'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import { bundleCaps } from '#runtime/catalog/types/plugin-upload.ts'

/** The error for an upload that cannot be installed; the message says what is wrong and what to do. */
export function refused(message: string, cause?: unknown): IsolaError {
  return new IsolaError('plugin_upload_invalid', message, defined({ cause }))
}

/** Makes a name from an upload safe to quote: short, in one line, with unusual characters spelled out. */
export function quoted(name: string): string {
  const whole = name.toWellFormed()
  const text = whole.length > 80 ? `${headOf(whole, 79)}…` : whole
  return JSON.stringify(text).replace(
    /[^\P{C}\n]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

const maxDepth = 10

/**
 * Checks the path of a file in an upload: relative, forward slashes, and no part that means another place or another
 * name on some system. Throws `plugin_upload_invalid` (docs/security.md T26).
 */
export function checkPath(path: string): void {
  const problem = problemOf(path)
  if (problem !== undefined) throw refused(`The path ${quoted(path)} ${problem}.`)
}

function problemOf(path: string): string | undefined {
  if (path === '') return 'is empty'
  if (path.length > bundleCaps.maxPathChars)
    return `is longer than ${bundleCaps.maxPathChars} characters`
  if (!path.isWellFormed()) return 'is not valid Unicode'
  // Control characters, and also characters that are invisible or turn the direction of writing.
  if (/\p{C}/u.test(path)) return 'has control or invisible characters'
  if (path.includes('\\')) return 'has a backslash; folders are separated by /'
  if (path.startsWith('/')) return 'is absolute; paths start at the folder of plugin.yaml'
  if (path.includes(':')) return 'has a colon, as drives have'
  const segments = path.split('/')
  if (segments.length > maxDepth) return `is deeper than ${maxDepth} folders`
  if (segments.includes('..')) return 'leaves the folder (..)'
  if (segments.some((segment) => segment === '' || segment === '.'))
    return 'has an empty part or a dot as a part'
  if (segments.some((segment) => /^\s|[\s.]$/.test(segment)))
    return 'has a part that begins or ends with a blank, or ends with a dot'
  return undefined
}

/** The form in which two names are equal if some file system takes them for one. */
const sameName = (path: string): string => path.normalize('NFKC').toLowerCase().normalize('NFKC')

/**
 * Refuses names that occur twice, that differ only in case or Unicode form, or that are a file and a folder at once.
 */
export function checkDistinct(paths: readonly string[]): void {
  const seen = new Map<string, string>()
  for (const path of paths) {
    const same = seen.get(sameName(path))
    if (same === path) throw refused(`There are two files ${quoted(path)}.`)
    if (same !== undefined)
      throw refused(
        `${quoted(same)} and ${quoted(path)} differ only in case or Unicode form: rename one.`,
      )
    seen.set(sameName(path), path)
  }
  for (const path of paths) {
    const parts = sameName(path).split('/')
    for (let length = 1; length < parts.length; length += 1) {
      const above = seen.get(parts.slice(0, length).join('/'))
      if (above !== undefined) throw refused(`${quoted(above)} is a file and a folder at once.`)
    }
  }
}
